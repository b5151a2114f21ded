"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const charts = new Map(); // element -> function that draws it
  const drawn = new Map(); // element -> chart
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const escaped = (text) => echarts.format.encodeHTML(text);

  function moment(ms) {
    const date = new Date(ms);
    return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString().replace("T", " ").replace("Z", "");
  }

  function duration(ms) {
    if (ms < 1000) return `${ms} ms`;
    if (ms < 59950) return `${(ms / 1000).toFixed(1)} s`;
    const units = [[60000, "min", 1000, "s"], [3600000, "h", 60000, "min"], [86400000, "d", 3600000, "h"]];
    const [size, name, small, smallName] = units.filter(([one], place) => place === 0 || ms >= one).pop();
    const whole = Math.floor(ms / size);
    const rest = Math.floor((ms % size) / small);
    return rest ? `${whole} ${name} ${rest} ${smallName}` : `${whole} ${name}`;
  }

  // --- charts ----------------------------------------------------------------------------------

  function axis() {
    return {
      axisLine: { lineStyle: { color: colour("line") } },
      axisLabel: { color: colour("soft"), hideOverlap: true },
      splitLine: { lineStyle: { color: colour("grid") } },
    };
  }

  function tooltip(formatter) {
    return {
      backgroundColor: colour("panel"), borderColor: colour("line"), textStyle: { color: colour("ink"), fontSize: 13 },
      confine: true, formatter,
    };
  }

  function draw(element) {
    const make = charts.get(element);
    if (!make) return;
    if (drawn.has(element)) drawn.get(element).dispose();
    const chart = echarts.init(element, null, { renderer: "svg" });
    chart.setOption({ useUTC: true, animation: false, textStyle: { fontFamily: getComputedStyle(document.body).fontFamily }, ...make(element) });
    chart.getZr().flush(); // now, not with the next frame: a printer does not wait
    drawn.set(element, chart);
  }

  // What the axis leaves of the element, about.
  const plotWidth = (element) => element.clientWidth - 80;

  function barsOverTime(element, series, unit) {
    const size = data.bucket_ms;
    return {
      grid: { left: 8, right: 12, top: 34, bottom: 8, containLabel: true },
      legend: series.length > 1 ? { top: 0, type: "scroll", textStyle: { color: colour("ink") }, itemWidth: 12, itemHeight: 12 } : undefined,
      tooltip: {
        ...tooltip((points) => {
          const lines = points.filter((point) => point.value[1]).map((point) => `${point.marker}${escaped(point.seriesName)}: ${unit(point.value[1])}`);
          return [moment(points[0].value[0] - size / 2).slice(0, 16), ...lines].join("<br>");
        }),
        trigger: "axis",
      },
      xAxis: { type: "time", min: data.buckets[0][0], max: data.buckets[data.buckets.length - 1][0] + size, ...axis(), splitLine: { show: false } },
      yAxis: { type: "value", minInterval: 1, ...axis(), axisLabel: { color: colour("soft"), formatter: unit } },
      series: series.map((one) => ({ ...one, type: "bar", stack: "all", barWidth: Math.min(60, Math.max(1, Math.floor(0.8 * plotWidth(element) / data.bucket_count))) })),
    };
  }

  function rebalances(element) {
    const middle = data.bucket_ms / 2;
    return barsOverTime(element, data.cause_names.map((name, cause) => ({
      name, itemStyle: { color: data.cause_colours[cause] },
      data: data.buckets.map((bucket) => [bucket[0] + middle, bucket[2][cause]]),
    })), String);
  }

  function unsettled(element) {
    const middle = data.bucket_ms / 2;
    return barsOverTime(element, [{ name: "not stable", itemStyle: { color: "#d9822b" }, data: data.buckets.map((bucket) => [bucket[0] + middle, bucket[1]]) }], duration);
  }

  function timeline(story) {
    const [from, to] = [story.from, story.to];
    const items = [];
    for (const [began, ended, state, told] of story.states) {
      items.push({ value: [0, began, ended ?? to], itemStyle: { color: data.states[state][1] }, text: told ?? `${data.states[state][0]}, ${duration((ended ?? to) - began)}${ended === null ? " so far" : ""}`, quiet: data.states[state][2] });
    }
    // What is short and matters lies on top of what is long and does not.
    items.sort((one, other) => Number(other.quiet) - Number(one.quiet));
    for (const [began, ended, count] of story.unowned) {
      items.push({ value: [2, began, ended], itemStyle: { color: "#c0392b" }, text: `${count} without owner for ${duration(ended - began)}` });
    }
    const epochs = story.epochs.map(([at, number, cause, text]) => ({ value: [at, 1], text, itemStyle: { color: cause === null ? colour("soft") : data.cause_colours[cause] }, number }));
    const bar = (params, api) => {
      const start = api.coord([api.value(1), api.value(0)]);
      const end = api.coord([api.value(2), api.value(0)]);
      const height = api.size([0, 1])[1] * 0.55;
      const clip = params.coordSys;
      const left = Math.max(start[0], clip.x);
      const right = Math.min(Math.max(end[0], start[0] + 1.5), clip.x + clip.width);
      if (right <= left) return null;
      return { type: "rect", shape: { x: left, y: start[1] - height / 2, width: right - left, height }, style: { fill: api.visual("color") } };
    };
    return {
      grid: { left: 8, right: 16, top: 8, bottom: 46, containLabel: true },
      tooltip: tooltip((point) => `${moment(point.value[point.seriesType === "custom" ? 1 : 0])}<br>${escaped(point.data.text)}`),
      dataZoom: [
        { type: "slider", height: 18, bottom: 6, filterMode: "weakFilter", borderColor: colour("line"), textStyle: { color: colour("soft") }, labelFormatter: (ms) => moment(ms).slice(5, 19) },
        { type: "inside", filterMode: "weakFilter", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false },
      ],
      xAxis: { type: "time", min: from, max: to, ...axis(), splitLine: { show: true, lineStyle: { color: colour("grid") } } },
      yAxis: { type: "category", data: ["state", story.epochs_name, "unowned"], inverse: true, ...axis(), splitLine: { show: false }, axisTick: { show: false } },
      series: [
        { type: "custom", renderItem: bar, data: items, encode: { x: [1, 2], y: 0 } },
        { type: "scatter", data: epochs, symbol: "diamond", symbolSize: 11 },
      ],
    };
  }

  if (data.buckets.length) {
    charts.set(document.getElementById("chart-rebalances"), rebalances);
    charts.set(document.getElementById("chart-unsettled"), unsettled);
  }
  for (const element of document.querySelectorAll("[data-timeline]")) {
    charts.set(element, () => timeline(data.timelines[Number(element.dataset.timeline)]));
  }
  // A closed section has no width to draw in.
  const isClosed = (element) => element.closest("details:not([open])") !== null;
  for (const element of charts.keys()) {
    if (!isClosed(element)) draw(element);
  }
  for (const group of document.querySelectorAll("details.group")) {
    group.addEventListener("toggle", () => {
      const element = group.querySelector("[data-timeline]");
      if (group.open && !drawn.has(element)) draw(element);
    });
  }
  const redraw = () => [...drawn.keys()].filter((element) => !isClosed(element)).forEach(draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("resize", redraw);

  // On paper everything is open; afterwards it is as it was.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details.group:not([open])")];
    closed.forEach((group) => { group.open = true; });
    [...charts.keys()].forEach(draw);
  });
  addEventListener("afterprint", () => closed.forEach((group) => { group.open = false; }));

  // --- groups ----------------------------------------------------------------------------------

  const body = document.querySelector("#group-table tbody");
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const more = document.getElementById("more-groups");
  const SHOWN = body.rows.length;
  const texts = data.groups.map((row) => row.cells.join(" ").toLowerCase());

  function show() {
    const wanted = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const hits = [];
    texts.forEach((text, place) => { if (wanted.every((word) => text.includes(word))) hits.push(data.groups[place]); });
    body.replaceChildren(...hits.slice(0, SHOWN).map((group) => {
      const row = document.createElement("tr");
      group.cells.forEach((text, place) => {
        const cell = row.insertCell();
        if (data.right[place]) cell.className = "right";
        if (place === 0 && group.anchor) {
          const link = document.createElement("a");
          link.href = `#${group.anchor}`;
          link.textContent = text;
          cell.append(link);
        } else {
          cell.textContent = text;
        }
      });
      return row;
    }));
    found.textContent = wanted.length ? `${hits.length.toLocaleString("en")} of ${data.groups.length.toLocaleString("en")}` : "";
    more.hidden = wanted.length > 0;
  }
  search.addEventListener("input", show);
  search.form.addEventListener("submit", (event) => event.preventDefault());
  show();

  // A link to a group opens it.
  function open() {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target && target.matches("details")) {
      target.open = true;
      target.scrollIntoView();
    }
  }
  addEventListener("hashchange", open);
  open();
})();
