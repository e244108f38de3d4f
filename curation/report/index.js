const rows = pageData();
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

function scatter(id, x, y, titles, style) {
  const traces = ['keep', 'review', 'drop'].map(verdict => {
    const members = rows.filter(row => row.verdict === verdict && x(row) !== null && y(row) !== null);
    return {
      type: 'scatter', mode: 'markers', name: verdict, x: members.map(x), y: members.map(y),
      customdata: members.map(row => row.number), marker: {size: 10, color: color(verdict)},
      text: members.map(row => `${row.number} · ${row.grade}`), hoverinfo: 'text+x+y',
    };
  }).filter(trace => trace.x.length);
  const axis = title => ({...style.axis, title: {text: title}});
  Plotly.react(id, traces, {
    ...style.layout, dragmode: 'select', xaxis: axis(titles[0]), yaxis: axis(titles[1]),
    legend: {orientation: 'h', y: 1.12},
  }, {...style.config, displayModeBar: false});
  const plot = document.getElementById(id);
  plot.removeAllListeners('plotly_selected');
  plot.removeAllListeners('plotly_deselect');
  plot.removeAllListeners('plotly_click');
  plot.on('plotly_selected', event => {
    selected = event && event.points.length ? new Set(event.points.map(p => p.customdata)) : null;
    filter();
  });
  plot.on('plotly_deselect', () => { selected = null; filter(); });
  plot.on('plotly_click', event => {
    location.href = rows.find(row => row.number === event.points[0].customdata).page;
  });
}

withPlotly(style => {
  scatter('axes', r => r.ratio, r => r.smoothness,
    ["duration, of the task's median", 'smoothness (higher is smoother)'], style);
  scatter('coverage', r => r.initial[0], r => r.initial[1],
    ['initial state: first coordinate', 'second coordinate'], style);
  scatter('trend', r => r.number, r => r.duration, ['episode', 'duration, s'], style);
  scatter('freshness', r => r.number, r => r.staleness, ['episode', 'worst staleness, ms'], style);
});
filter();
