// Unpack Plotly, which the page carries packed, then call draw(style) once and on theme changes.
async function withPlotly(draw) {
  const packed = document.getElementById('plotly').textContent.trim();
  const bytes = Uint8Array.from(atob(packed), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  const script = document.createElement('script');
  script.textContent = await new Response(stream).text();
  document.head.append(script);
  const redraw = () => draw(plotStyle());
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  redraw();
}

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}

function plotStyle() {
  const axis = {gridcolor: color('line'), zerolinecolor: color('line'), linecolor: color('line')};
  return {
    axis,
    layout: {
      paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)',
      font: {color: color('ink'), family: 'system-ui, sans-serif', size: 12},
      margin: {l: 55, r: 15, t: 10, b: 45}, hovermode: 'closest',
      modebar: {bgcolor: 'rgba(0,0,0,0)', color: color('soft'), activecolor: color('accent')},
    },
    config: {responsive: true, displaylogo: false},
  };
}

function pageData() {
  return JSON.parse(document.getElementById('data').textContent);
}
