const {rows, next} = pageData();
const body = document.querySelector('#episodes tbody');
const lines = new Map([...body.rows].map(line => [Number(line.dataset.number), line]));
let selected = null;  // numbers brushed in a plot, null for all

function filter() {
  const words = document.getElementById('search').value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const [number, line] of lines) {
    const text = line.textContent.toLowerCase();
    const visible = (!selected || selected.has(number)) && words.every(word => text.includes(word));
    line.hidden = !visible;
    shown += visible;
  }
  document.getElementById('shown').textContent = `${shown} of ${rows.length} episodes`;
}

document.getElementById('search').addEventListener('input', filter);

for (const head of document.querySelectorAll('th[data-key]')) {
  head.addEventListener('click', () => {
    const up = head.dataset.order !== 'up';
    head.dataset.order = up ? 'up' : 'down';
    const key = head.dataset.key;
    const sorted = [...rows].sort((a, b) => {
      const [x, y] = up ? [a[key], b[key]] : [b[key], a[key]];
      return x === null ? 1 : y === null ? -1 : x < y ? -1 : x > y ? 1 : 0;
    });
    body.append(...sorted.map(row => lines.get(row.number)));
  });
}

const GRADES = ['failure', 'partial', 'success_after_retries', 'success_first_try'];
const rank = row => { const at = GRADES.indexOf(row.grade); return at < 0 ? null : at; };

// Draw one trace a group, and let what is brushed narrow the table.
function draw(id, traces, layout, style) {
  Plotly.react(id, traces, {...style.layout, dragmode: 'select', legend: {orientation: 'h', y: 1.12}, ...layout},
    {...style.config, displayModeBar: false});
  const plot = document.getElementById(id);
  for (const name of ['plotly_selected', 'plotly_deselect', 'plotly_click']) plot.removeAllListeners(name);
  plot.on('plotly_selected', event => {
    const points = event ? event.points.filter(p => p.customdata !== undefined) : [];
    selected = points.length ? new Set(points.map(p => p.customdata)) : null;
    filter();
  });
  plot.on('plotly_deselect', () => { selected = null; filter(); });
  plot.on('plotly_click', event => {
    const row = rows.find(row => row.number === event.points[0].customdata);
    if (row) location.href = row.page;
  });
}

// Plotly reads some HTML in labels; what comes from data stays text, and short.
function plain(text) {
  const short = text.length > 24 ? text.slice(0, 23) + '…' : text;
  return short.replace(/&/g, '&amp;').replace(/</g, '&lt;');
}

function grouped(key, names, trace) {
  return names.map(name => {
    const members = rows.filter(row => row[key] === name);
    return {
      name: plain(name), customdata: members.map(row => row.number),
      text: members.map(row => `${row.number} · ${plain(row.grade)}`),
      hoverinfo: 'text+x+y', ...trace(members, name),
    };
  }).filter(group => group.customdata.length);
}

function scatter(id, groups, titles, style, more = []) {
  const axis = title => ({...style.axis, title: {text: title}});
  draw(id, [...groups, ...more], {xaxis: axis(titles[0]), yaxis: axis(titles[1])}, style);
}

withPlotly(style => {
  const verdicts = ['keep', 'review', 'drop'];
  // every pair of the four axes, as points that need no WebGL
  const measures = [
    ['success', rank], ['duration / median', r => r.ratio], ['smoothness', r => r.smoothness],
    ['coverage gain', r => r.gain],
  ];
  const layout = {grid: {rows: 3, columns: 3, pattern: 'independent'}};
  const pairs = [];
  for (let down = 1; down < 4; down += 1) {
    for (let across = 0; across < down; across += 1) {
      const n = 3 * (down - 1) + across + 1;
      const name = n === 1 ? '' : n;
      pairs.push(...grouped('verdict', verdicts, (members, verdict) => ({
        type: 'scatter', mode: 'markers', x: members.map(measures[across][1]), y: members.map(measures[down][1]),
        xaxis: 'x' + name, yaxis: 'y' + name, showlegend: n === 1, legendgroup: verdict,
        marker: {size: 6, color: color(verdict)},
      })));
      layout['xaxis' + name] = {...style.axis, title: {text: down === 3 ? measures[across][0] : ''}};
      layout['yaxis' + name] = {...style.axis, title: {text: across === 0 ? measures[down][0] : ''}};
      if (across === 0) Object.assign(layout['xaxis' + name], {range: [-0.4, 3.4], tickvals: [0, 1, 2, 3], ticktext: ['failed', 'part', 'retries', 'first']});
    }
  }
  draw('axes', pairs, layout, style);

  const ask = next.filter(entry => entry.point.length > 1);
  const place = r => r.initial;
  scatter('coverage', grouped('verdict', verdicts, (members, name) => ({
    type: 'scatter', mode: 'markers', x: members.map(r => place(r)[0]), y: members.map(r => place(r)[1]),
    marker: {size: 9, color: color(name)},
  })), ['initial state: first coordinate', 'second coordinate'], style, ask.length ? [{
    type: 'scatter', mode: 'markers', name: 'collect next', x: ask.map(e => e.point[0]), y: ask.map(e => e.point[1]),
    text: ask.map(e => plain(e.near)), hoverinfo: 'text+x+y', marker: {size: 13, symbol: 'star', color: color('accent')},
  }] : []);

  const operators = [...new Set(rows.map(row => row.operator))];
  scatter('trend', grouped('operator', operators, members => ({
    type: 'scatter', mode: 'markers', x: members.map(r => r.place), y: members.map(r => r.ratio), marker: {size: 8},
  })), ['episode of the session', "duration, of the task's median"], style);
});
filter();
