const data = pageData();
const colors = {
  'measured': '#2ca25f', 'executed': '#f08a24', 'human proposes': '#3b82f6', 'policy proposes': '#9b6ee8',
};

function bands(count) {
  const shapes = [];
  for (const band of data.bands) {
    for (let i = 1; i <= count; i++) {
      shapes.push({
        type: 'rect', xref: 'x', yref: (i === 1 ? 'y' : 'y' + i) + ' domain', x0: band.start, x1: band.end,
        y0: 0, y1: 1, fillcolor: '#f08a24', opacity: 0.12, line: {width: 0}, layer: 'below',
      });
    }
  }
  return shapes;
}

function labels() {
  return data.bands.map(band => ({
    x: band.start, y: 1, xref: 'x', yref: 'paper', yanchor: 'bottom', xanchor: 'left',
    text: 'intervention · ' + escapeMarkup(band.label), showarrow: false,
  }));
}

// Plotly reads a little HTML in its texts
function escapeMarkup(text) {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

function stacked(id, panels, style) {
  const layout = {
    ...style.layout, height: 130 * panels.length + 80, margin: {l: 100, r: 15, t: 55, b: 45},
    grid: {rows: panels.length, columns: 1, subplots: panels.map((_, i) => ['x' + (i ? 'y' + (i + 1) : 'y')])},
    xaxis: {...style.axis, title: {text: 'time, s'}, anchor: 'y' + (panels.length > 1 ? panels.length : '')},
    hovermode: 'x unified', shapes: bands(panels.length), annotations: labels(),
    legend: {orientation: 'h', yref: 'container', y: 1, yanchor: 'top', x: 0, xanchor: 'left'},
  };
  const traces = [];
  panels.forEach((panel, i) => {
    layout['yaxis' + (i ? i + 1 : '')] = {...style.axis, title: {text: escapeMarkup(panel.name)}, ...panel.axis};
    for (const [label, values] of Object.entries(panel.curves)) {
      traces.push({
        type: 'scatter', mode: 'lines', x: data.times, y: values, name: label, legendgroup: label,
        yaxis: 'y' + (i ? i + 1 : ''), line: {width: 1.4, color: colors[label] || panel.color},
        showlegend: i === 0 && panels.length > 1, fill: panel.fill,
      });
    }
  });
  Plotly.react(id, traces, layout, style.config);
}

// Each joint's divergence, the phases of the task above it, and where it begins to be one.
function replayed(style) {
  const {joints, phases, threshold} = data.replay;
  Plotly.react('replay', joints.map(joint => ({
    type: 'scatter', mode: 'lines', x: data.times, y: joint.values, name: escapeMarkup(joint.name), line: {width: 1.4},
  })), {
    ...style.layout, height: 340, margin: {l: 100, r: 15, t: 40, b: 45}, hovermode: 'x unified',
    xaxis: {...style.axis, title: {text: 'time, s'}},
    yaxis: {...style.axis, title: {text: "people's spreads"}, rangemode: 'tozero'},
    legend: {orientation: 'h', yref: 'container', y: 1, yanchor: 'top', x: 0, xanchor: 'left'},
    shapes: [
      ...bands(1),
      ...phases.map(phase => ({
        type: 'line', xref: 'x', yref: 'y domain', x0: phase.start, x1: phase.start, y0: 0, y1: 1,
        line: {width: 1, dash: 'dot', color: style.layout.font.color},
      })),
      {type: 'line', xref: 'x domain', yref: 'y', x0: 0, x1: 1, y0: threshold, y1: threshold, line: {width: 1, dash: 'dash', color: '#d33'}},
    ],
    annotations: phases.map(phase => ({
      x: phase.start, y: 1, xref: 'x', yref: 'y domain', xanchor: 'left', yanchor: 'top', text: phase.name, textangle: -90, showarrow: false,
    })),
  }, style.config);
}

withPlotly(style => {
  stacked('joints', data.joints.map(joint => ({name: joint.name, curves: joint.curves})), style);
  stacked('authority', [{
    name: 'authority', curves: {authority: data.authority}, color: '#f08a24', fill: 'tozeroy',
    axis: {range: [-0.05, 1.05]},
  }], style);
  if (data.replay) replayed(style);
  Plotly.react('staleness', data.staleness.map(stream => ({
    type: 'scatter', mode: 'lines', x: data.times, y: stream.values, name: escapeMarkup(stream.name), line: {width: 1},
  })), {
    ...style.layout, height: 320, xaxis: {...style.axis, title: {text: 'time, s'}},
    yaxis: {...style.axis, title: {text: 'staleness, ms'}, rangemode: 'tozero'},
  }, style.config);
});
