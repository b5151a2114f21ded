"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const data = read("data");
  let packedSections = null; // read with the first section: megabytes that a look at the overview does not need
  const LANES = 40; // groups in the picture of all groups at a time
  const byId = (id) => document.getElementById(id);
  const night = matchMedia("(prefers-color-scheme: dark)");
  let onPaper = false;
  const shade = (pair) => pair[night.matches && !onPaper ? 1 : 0];
  const PAPER = { ink: "#000000", soft: "#444444", line: "#cccccc", grid: "#e8ebf0", panel: "#ffffff", paper: "#ffffff" };
  const colour = (name) => (onPaper ? PAPER[name] : getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  const textOf = (cell) => (Array.isArray(cell) ? cell[0] + (cell[1] ? ` (${cell[1]})` : "") : cell);
  const escaped = (text) => echarts.format.encodeHTML(String(text));

  function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  }

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

  // --- the window of time that all pictures share ------------------------------------------------

  const first = data.from ?? 0;
  const last = Math.max(data.to ?? first, first + 1);
  const rim = Math.max(1, Math.round((last - first) * 0.02));
  const whole = { from: first - rim, to: last + rim };
  let view = { ...whole };
  const isWhole = () => view.from === whole.from && view.to === whole.to;

  function setView(from, to) {
    let width = Math.min(Math.max(1, Math.round(to - from)), whole.to - whole.from);
    let begin = Math.round(from);
    begin = Math.min(Math.max(begin, whole.from), whole.to - width);
    if (begin === view.from && begin + width === view.to) return;
    view = { from: begin, to: begin + width };
    viewChanged();
  }

  function zoom(factor, share = 0.5) {
    const width = (view.to - view.from) * factor;
    const middle = view.from + (view.to - view.from) * share;
    setView(middle - width * share, middle + width * (1 - share));
  }

  function pan(share) {
    const step = (view.to - view.from) * share;
    setView(view.from + step, view.to + step);
  }

  const steps = {
    earlier: () => pan(-0.25), later: () => pan(0.25), in: () => zoom(0.5), out: () => zoom(2),
    whole: () => setView(whole.from, whole.to),
  };

  const DURATIONS = [1, 2, 5, 10, 20, 50, 100, 200, 500]
    .concat([1, 2, 5, 10, 15, 30].map((each) => each * 1000), [1, 2, 5, 10, 15, 30].map((each) => each * 60000), [1, 2, 3, 6, 12, 24, 48].map((each) => each * 3600000));

  // --- charts ------------------------------------------------------------------------------------

  const charts = new Map(); // element -> {make, drawn, chart, marks, current}; no chart while it waits to be drawn

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
      confine: true, extraCssText: "max-width: 26rem; white-space: normal; overflow-wrap: anywhere;", formatter,
    };
  }

  const timeAxis = () => ({ type: "time", min: view.from, max: view.to, ...axis(), axisLabel: { ...axis().axisLabel, formatter: { month: "{MMM} {d}", day: "{MMM} {d}" } }, splitLine: { show: true, lineStyle: { color: colour("grid") } } });

  function draw(element) {
    const entry = charts.get(element);
    if (entry.chart) entry.chart.dispose();
    // Paper is finer than screens: twice the dots in both directions, which cost time on a screen that has not got them.
    entry.chart = echarts.init(element, null, { renderer: "canvas", devicePixelRatio: onPaper ? Math.max(2, window.devicePixelRatio) : window.devicePixelRatio });
    entry.chart.setOption({ useUTC: true, animation: false, textStyle: { fontFamily: getComputedStyle(document.body).fontFamily }, ...entry.make(element) });
    entry.chart.getZr().flush(); // now, not with the next frame: a printer does not wait
    entry.drawn?.(entry.chart);
  }

  const isInView = (element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return bottom >= 0 && top <= innerHeight;
  };
  // What is not certain is drawn in lines of its colour.
  const patterns = new Map();
  function hatched(fill) {
    const key = `${fill} ${colour("paper")}`;
    if (!patterns.has(key)) {
      const canvas = document.createElement("canvas");
      canvas.width = canvas.height = 8;
      const pen = canvas.getContext("2d");
      pen.fillStyle = colour("paper");
      pen.fillRect(0, 0, 8, 8);
      pen.strokeStyle = fill;
      pen.lineWidth = 2;
      for (const at of [-8, 0, 8]) {
        pen.beginPath();
        pen.moveTo(at - 1, 9);
        pen.lineTo(at + 9, -1);
        pen.stroke();
      }
      patterns.set(key, { image: canvas, repeat: "repeat" });
    }
    return patterns.get(key);
  }
  const afterPainting = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));

  const GRID = { left: 150, right: 16, top: 8, bottom: 26 };
  const grid = (element) => ({ ...GRID, left: element.clientWidth < 500 ? 92 : element.clientWidth < 900 ? GRID.left : 190 });

  // Names lose their end, or their middle or beginning where more of them can be distinguished by the rest.
  function shortener(names, letters) {
    const short = (tail) => (name) => (name.length > letters ? `${name.slice(0, letters - 1 - tail)}…${tail ? name.slice(-tail) : ""}` : name);
    const ways = [0, Math.floor((letters - 1) / 2), letters - 1].map(short);
    const distinct = ways.map((way) => new Set(names.map(way)).size);
    return ways[distinct.indexOf(Math.max(...distinct))];
  }

  // While the page opens, what is out of view waits until the rest can be seen.
  let isOpen = false;
  function add(element, label, make, drawn) {
    charts.set(element, { make, drawn });
    element.tabIndex = 0;
    element.setAttribute("role", "group");
    element.setAttribute("aria-label", label);
    element.setAttribute("aria-describedby", "how");
    drive(element);
    if (isOpen) draw(element);
  }

  function say(text) { byId("said").textContent = text; }

  // Bars, lozenges and lines of one picture. A mark: {lane, from, to, fill, text, height, shift, kind, unsure, open}.
  function marksOption(element, lanes, marks, culprits = null) {
    const entry = charts.get(element);
    const current = entry.marks?.[entry.current];
    const lane = current && lanes.indexOf(entry.lanes[current.lane]);
    Object.assign(entry, { marks, lanes });
    // A picture is drawn anew when its size changes, too, and that may be between the keys that find a mark and open it.
    entry.current = current ? marks.findIndex((mark) => mark.kind === current.kind && mark.lane === lane && mark.from === current.from) : -1;
    const margins = grid(element);
    const render = (params, api) => {
      const mark = marks[params.dataIndex];
      if (mark.to < view.from || mark.from > view.to) return null;
      const area = params.coordSys;
      const band = area.height / lanes.length;
      const x = (at) => area.x + ((at - view.from) / (view.to - view.from)) * area.width;
      const left = Math.max(x(mark.from), area.x);
      const middle = area.y + band * (mark.lane + 0.5);
      if (mark.kind === "line") {
        return {
          type: "group",
          children: [
            { type: "rect", shape: { x: left - 0.5, y: area.y, width: 1, height: area.height }, style: { fill: mark.fill, opacity: 0.55 } },
            { type: "polygon", shape: { points: [[left, area.y - 1], [left + 5, area.y + 5], [left, area.y + 11], [left - 5, area.y + 5]] }, style: { fill: mark.fill } },
          ],
        };
      }
      if (mark.kind === "band") {
        const until = Math.min(Math.max(x(mark.to), left + 2), area.x + area.width);
        return { type: "rect", silent: true, shape: { x: left, y: area.y, width: Math.max(0, until - left), height: area.height }, style: { fill: mark.fill, opacity: 0.16 } };
      }
      if (mark.kind === "link") {
        const other = area.y + band * (mark.other + 0.5);
        return { type: "line", shape: { x1: left, y1: middle, x2: left, y2: other }, style: { stroke: mark.fill, lineWidth: 1.5, lineDash: [3, 3] } };
      }
      const right = Math.min(Math.max(x(mark.to), left + 2), area.x + area.width);
      if (right <= left) return null;
      const height = Math.max(2, band * (mark.height ?? 0.6));
      const shape = { x: left, y: middle - height / 2 + band * (mark.shift ?? 0), width: right - left, height };
      const edge = mark.unsure ? { stroke: mark.fill, lineWidth: 1 } : { stroke: colour("paper"), lineWidth: 1 };
      const bar = { type: "rect", shape, style: { fill: mark.unsure ? hatched(mark.fill) : mark.fill, ...(right - left > 6 ? edge : {}) } };
      if (!mark.label || right - left < 18) return bar;
      return { type: "group", children: [bar, { type: "text", style: { x: (left + right) / 2, y: shape.y + height / 2, text: mark.label, align: "center", verticalAlign: "middle", fontSize: 11, fill: mark.ink } }] };
    };
    const letters = Math.floor((margins.left - 14) / 6.5) - (culprits?.size ? 2 : 0);
    const shorten = shortener(lanes, letters);
    return {
      grid: margins,
      tooltip: tooltip((point) => markText(marks[point.dataIndex], lanes)),
      xAxis: timeAxis(),
      yAxis: {
        type: "category", data: lanes, inverse: true, ...axis(), splitLine: { show: true, lineStyle: { color: colour("grid") } }, axisTick: { show: false },
        triggerEvent: true,
        axisLabel: {
          interval: 0,
          color: (_, place) => (culprits?.has(place) ? colour("critical") : colour("ink")),
          formatter: (name, place) => `${culprits?.has(place) ? "▶ " : ""}${shorten(name)}`,
        },
      },
      series: [{ type: "custom", clip: false, progressive: 0, renderItem: render, data: marks.map((mark) => [mark.from, mark.lane]), encode: { x: 0, y: 1 } }],
    };
  }

  const plain = (mark, lanes) => `${lanes[mark.lane]}, ${moment(mark.from)}: ${mark.text}`;
  const markText = (mark, lanes) => `<b>${escaped(lanes[mark.lane])}</b><br>${escaped(moment(mark.from))}<br>${escaped(mark.text)}`;

  function goToMark(element, step) {
    const entry = charts.get(element);
    if (!entry.marks) return;
    const seen = entry.marks.map((mark, place) => [mark, place]).filter(([mark]) => mark.kind !== "link" && mark.kind !== "band" && mark.to >= view.from && mark.from <= view.to)
      .sort(([one], [other]) => one.from - other.from || one.lane - other.lane).map(([, place]) => place);
    if (!seen.length) return say("No mark in this stretch of time.");
    const at = seen.indexOf(entry.current);
    entry.current = seen[at < 0 ? (step > 0 ? 0 : seen.length - 1) : (at + step + seen.length) % seen.length];
    entry.chart.dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: entry.current });
    say(plain(entry.marks[entry.current], entry.lanes));
  }

  function openMark(element) {
    const entry = charts.get(element);
    const mark = entry.marks?.[entry.current];
    if (mark?.open) mark.open();
    else say("Nothing to open here: n goes to the next mark.");
  }

  // A click may be the first of a double click, which shows the whole time: a group that opens would be under the second.
  let opening;
  function openClicked(element, chart) {
    chart.on("click", (point) => {
      const entry = charts.get(element);
      const isLabel = point.componentType === "yAxis";
      const act = isLabel ? entry.label && (() => entry.label(point.dataIndex ?? entry.lanes.indexOf(point.value))) : entry.marks[point.dataIndex]?.open;
      clearTimeout(opening);
      if (act) opening = setTimeout(act, isLabel ? 0 : 300);
    });
  }

  function drive(element) {
    const place = (event) => {
      const margins = grid(element);
      const box = element.getBoundingClientRect();
      return Math.min(1, Math.max(0, (event.clientX - box.left - margins.left) / (box.width - margins.left - margins.right)));
    };
    element.addEventListener("wheel", (event) => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        zoom(event.deltaY > 0 ? 1.3 : 1 / 1.3, place(event));
      } else if (event.shiftKey) {
        event.preventDefault();
        pan((event.deltaY || event.deltaX) > 0 ? 0.1 : -0.1);
      }
    }, { passive: false });
    element.addEventListener("dblclick", () => {
      clearTimeout(opening);
      steps.whole();
    });
    element.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      const began = { share: place(event), view: { ...view }, x: event.clientX };
      const width = began.view.to - began.view.from;
      const at = (share) => began.view.from + width * share;
      const isBrush = event.shiftKey;
      const box = document.createElement("div");
      box.className = "brush";
      if (isBrush) element.append(box);
      const move = (moved) => {
        if (isBrush) {
          const frame = element.getBoundingClientRect();
          box.style.left = `${Math.min(began.x, moved.clientX) - frame.left}px`;
          box.style.width = `${Math.abs(moved.clientX - began.x)}px`;
        } else if (Math.abs(moved.clientX - began.x) > 3) {
          const step = (began.share - place(moved)) * width;
          setView(began.view.from + step, began.view.to + step);
        }
      };
      const end = (ended) => {
        removeEventListener("pointermove", move);
        removeEventListener("pointerup", end);
        removeEventListener("pointercancel", end);
        box.remove();
        if (isBrush && Math.abs(ended.clientX - began.x) > 3) {
          const shares = [began.share, place(ended)].sort((one, other) => one - other);
          setView(at(shares[0]), at(shares[1]));
        }
      };
      addEventListener("pointermove", move);
      addEventListener("pointerup", end);
      addEventListener("pointercancel", end);
    });
    element.addEventListener("keydown", (event) => {
      const keys = {
        "+": steps.in, "=": steps.in, "-": steps.out, "−": steps.out, ArrowLeft: steps.earlier, ArrowRight: steps.later, 0: steps.whole, Home: steps.whole,
        n: () => goToMark(element, 1), p: () => goToMark(element, -1), Enter: () => openMark(element),
      };
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
  }

  // Lines at whole seconds, minutes, hours: a tenth of a minute is no round number.
  function durationSteps() {
    const most = Math.max(1, ...buckets.map((bucket) => bucket[1].reduce((sum, each) => sum + each, 0)));
    const interval = DURATIONS.find((each) => most <= 5 * each) ?? Math.ceil(most / 5 / 86400000) * 86400000;
    return { interval, max: Math.ceil(most / interval) * interval };
  }

  function barsOverTime(element, series, unit, steps = () => ({})) {
    const size = data.bucket_ms;
    return {
      grid: { ...grid(element), left: 64, top: 12 },
      tooltip: {
        ...tooltip((points) => {
          const lines = points.filter((point) => point.value[1]).map((point) => `${point.marker}${escaped(point.seriesName)}: ${escaped(unit(point.value[1]))}`);
          return [escaped(moment(points[0].value[0] - size / 2).slice(0, 19)), ...lines].join("<br>");
        }),
        trigger: "axis",
      },
      xAxis: { ...timeAxis(), splitLine: { show: false } },
      yAxis: { type: "value", minInterval: 1, ...steps(), ...axis(), axisLabel: { color: colour("soft"), formatter: unit } },
      series: series.map((one) => ({ ...one, type: "bar", stack: "all", clip: true, barWidth: Math.min(60, Math.max(1.5, (0.8 * (element.clientWidth - 90) * size) / (view.to - view.from))) })),
    };
  }

  // What passes the filters, bucket by bucket, from the rebalances of the lanes: [from, time by what cost it, count by kind of cause].
  function passingBuckets() {
    const size = data.bucket_ms;
    const found = new Map();
    const at = (from) => {
      if (!found.has(from)) found.set(from, [from, data.costs.map(() => 0), data.kinds.map(() => 0)]);
      return found.get(from);
    };
    data.groups.forEach((_, number) => {
      if (!passes(number)) return;
      for (const [after, width, cause, cost] of lanesData.groups[number] ?? []) {
        if (wantedCause() !== null && cause !== wantedCause()) continue;
        const from = after + lanesData.origin;
        at(Math.floor(from / size) * size)[2][cause === null ? data.kinds.length - 1 : data.causes[cause][1]] += 1;
        for (let bucket = Math.floor(from / size) * size; bucket < from + width; bucket += size) {
          at(bucket)[1][cost] += Math.min(bucket + size, from + width) - Math.max(bucket, from);
        }
      }
    });
    return [...found.values()].sort((one, other) => one[0] - other[0]);
  }

  const middle = data.bucket_ms / 2;
  let buckets = data.buckets;
  const series = (legend, column) => legend.map(([name, shades], place) => ({
    name, itemStyle: { color: shade(shades) }, data: buckets.map((bucket) => [bucket[0] + middle, bucket[column][place]]),
  })).filter((one) => one.data.some(([, value]) => value));
  const rebalances = (element) => barsOverTime(element, series(data.kinds, 2), String);
  const unsettled = (element) => barsOverTime(element, series(data.costs, 1), duration, durationSteps);

  function redrawBuckets() {
    const isFiltered = lanesData !== null && (wantedCause() !== null || wantedSeverity() !== "" || wantedGroup() !== "");
    if (!isFiltered && buckets === data.buckets) return;
    buckets = isFiltered ? passingBuckets() : data.buckets;
    for (const id of ["chart-rebalances", "chart-unsettled"]) if (charts.has(byId(id))) draw(byId(id));
  }

  // --- filters -----------------------------------------------------------------------------------

  let lanesData = null; // {origin, groups: bars of each group}
  function wantedCause() {
    const wanted = byId("filter-cause")?.value;
    return wanted ? data.causes.findIndex(([cause]) => cause === wanted) : null;
  }
  const wantedSeverity = () => byId("filter-severity")?.value ?? "";
  const wantedCluster = () => byId("filter-cluster")?.value ?? "";
  const clusterOf = new Map(data.groups.map((group) => [group.cells[0], group.cluster]));
  const isElsewhere = (name) => wantedCluster() !== "" && clusterOf.get(name) !== wantedCluster();
  const wantedGroup = () => (byId("filter-group")?.value ?? "").trim().toLowerCase();

  function barsSeen(number) {
    const cause = wantedCause();
    const [from, to] = [view.from - lanesData.origin, view.to - lanesData.origin];
    return (lanesData.groups[number] ?? []).filter((bar) => bar[0] + bar[1] >= from && bar[0] <= to && (cause === null || bar[2] === cause));
  }

  function passes(number) {
    const group = data.groups[number];
    if (isElsewhere(group.cells[0])) return false;
    if (wantedGroup() && !group.cells[0].toLowerCase().includes(wantedGroup())) return false;
    if (wantedSeverity() && !group.found.includes(wantedSeverity())) return false;
    if (lanesData === null || (wantedCause() === null && isWhole())) return true;
    return barsSeen(number).length > 0;
  }

  function filterFindings() {
    for (const finding of document.querySelectorAll("#all-findings .finding")) {
      const entries = [...finding.querySelectorAll("li[data-from]")];
      for (const entry of entries) {
        const ended = entry.dataset.to === undefined ? Infinity : Number(entry.dataset.to);
        entry.hidden = Number(entry.dataset.from) > view.to || ended < view.from || isElsewhere(entry.dataset.group) || (wantedGroup() !== "" && !entry.dataset.group.toLowerCase().includes(wantedGroup()));
      }
      finding.hidden = (wantedSeverity() !== "" && finding.dataset.severity !== wantedSeverity()) || entries.every((entry) => entry.hidden);
    }
    const all = [...document.querySelectorAll("#all-findings .finding")];
    showNote("no-findings", all.length && all.every((finding) => finding.hidden) && `No finding passes the filters; ${all.length === 1 ? "one kind is" : `${all.length} kinds are`} hidden.`);
  }

  // A sentence where a filter leaves nothing, with the way back.
  function showNote(id, sentence) {
    const place = byId(id);
    if (!place) return;
    place.hidden = !sentence;
    if (!sentence) return place.replaceChildren();
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Clear filters";
    button.addEventListener("click", clearFilters);
    place.replaceChildren(`${sentence} `, button);
  }

  const REBALANCES = 12; // rows of the table of rebalances before it is opened
  let everyRebalance = false;
  byId("more-rebalances")?.addEventListener("click", () => {
    everyRebalance = true;
    filterRebalances();
  });

  function filterRebalances() {
    const rows = [...document.querySelectorAll("#all-rebalances tbody tr")];
    const severity = wantedSeverity();
    const withSeverity = severity && new Set(data.groups.filter((group) => group.found.includes(severity)).map((group) => group.cells[0]));
    const cause = byId("filter-cause")?.value;
    for (const row of rows) {
      const { group, from, to } = row.dataset;
      row.hidden = Number(from) > view.to || (to !== undefined && Number(to) < view.from) || (cause && row.dataset.cause !== cause)
        || isElsewhere(group) || !group.toLowerCase().includes(wantedGroup()) || (withSeverity && !withSeverity.has(group));
    }
    const passing = rows.filter((row) => !row.hidden);
    showNote("no-rebalances", rows.length && !passing.length && "None of these rebalances passes the filters.");
    const more = byId("more-rebalances");
    if (!more) return;
    for (const row of everyRebalance ? [] : passing.slice(REBALANCES)) row.hidden = true;
    more.hidden = everyRebalance || passing.length <= REBALANCES;
    more.textContent = `Show all ${passing.length}`;
  }

  // --- all groups over time ----------------------------------------------------------------------

  let lanesFrom = 0;
  let byLoss = [];
  const inkOn = (fill) => {
    const [red, green, blue] = [1, 3, 5].map((at) => (parseInt(fill.slice(at, at + 2), 16) / 255) ** 2.2);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#000000" : "#ffffff";
  };

  function lanesOption(element) {
    const passing = byLoss.filter(passes);
    if (lanesFrom >= passing.length) lanesFrom = 0;
    const shown = passing.slice(lanesFrom, lanesFrom + LANES);
    const marks = shown.flatMap((number, lane) => barsSeen(number).flatMap(([after, width, , cost, text, key, doubt]) => {
      const from = after + lanesData.origin;
      const bar = { lane, from, to: from + width, text, fill: shade(data.costs[cost][1]), height: 0.7, open: () => openGroup(number, { rebalance: key, isNew: true }) };
      return doubt ? [{ ...bar, from: from - doubt, to: from, height: 0.3, unsure: true }, bar] : [bar];
    }));
    const names = shown.map((number) => data.groups[number].cells[0]);
    byId("lanes-shown").textContent = passing.length ? `${lanesFrom + 1} to ${lanesFrom + shown.length} of ${passing.length.toLocaleString("en")}` : "";
    byId("lanes-before").disabled = lanesFrom === 0;
    byId("lanes-after").disabled = lanesFrom + LANES >= passing.length;
    charts.get(element).label = (lane) => openGroup(shown[lane], { isNew: true });
    return marksOption(element, names.length ? names : [""], marks);
  }

  const laneHeight = (count, each) => `${Math.max(4, count) * each + 40}px`;

  function redrawLanes() {
    const element = byId("chart-lanes");
    if (!element || !charts.has(element)) return;
    const passing = byLoss.filter(passes).length;
    for (const figure of document.querySelectorAll("#time ~ section figure")) figure.hidden = !passing && byLoss.length > 0;
    const when = isWhole() ? "" : ` between ${moment(view.from)} and ${moment(view.to)}`;
    showNote("no-groups", !passing && byLoss.length && `No rebalance passes the filters${when}.`);
    element.style.height = laneHeight(Math.min(LANES, passing), 18);
    if (passing || !byLoss.length) draw(element);
  }

  function page(step) {
    lanesFrom = Math.max(0, lanesFrom + step * LANES);
    redrawLanes();
  }

  // --- one group ---------------------------------------------------------------------------------

  const HEAD = ["rebalances", "state", "without owner"];
  const owner = (place) => shade(data.owners[place % data.owners.length]);

  function ganttMarks(story, withPartitions, chosen, choose) {
    const at = (ms) => ms + story.origin;
    const below = HEAD.length;
    const lanes = [...HEAD, ...(withPartitions ? story.partitions : story.lanes)];
    const marks = [];
    const culprits = new Set();
    const states = [];
    for (const [from, to, cost, text, key] of story.rebalances) {
      const fill = shade(data.costs[cost][1]);
      if (key === chosen) marks.push({ kind: "band", lane: 0, from: at(from), to: at(to), fill, text });
      states.push({ lane: 0, from: at(from), to: at(to), text, fill, height: 0.75, open: () => choose(key) });
    }
    for (const [from, to, state, text, sure] of story.states) {
      const [, shades, quiet] = data.states[state];
      states.push({ lane: 1, from: at(from), to: at(to), text, fill: shade(shades), height: quiet ? 0.3 : 0.75, quiet, unsure: !sure });
    }
    // What is short and matters lies on top of what is long and does not.
    states.sort((one, other) => Number(other.quiet ?? false) - Number(one.quiet ?? false));
    marks.push(...states);
    for (const [from, to, text, sure] of story.unowned) marks.push({ lane: 2, from: at(from), to: at(to), text, fill: shade(data.marks.unowned), height: 0.6, unsure: !sure });
    if (withPartitions) {
      for (const [lane, from, to, member, name, sure] of story.held) {
        const fill = member === null ? colour("soft") : owner(member);
        const verb = story.at_least ? "last given to" : sure ? "owned by" : "may have been given up by";
        marks.push({ lane: lane + below, from: at(from), to: at(to), text: `${verb} ${name}`, fill, label: sure ? name : "", ink: inkOn(fill.length === 7 ? fill : "#888888"), unsure: !sure });
      }
      for (const [lane, from, to] of story.gaps) marks.push({ lane: lane + below, from: at(from), to: at(to), text: `without owner for ${duration(to - from)}`, fill: shade(data.marks.unowned) });
    } else {
      const fills = Object.fromEntries(Object.entries(data.marks).map(([name, pair]) => [name, shade(pair)]));
      for (const [lane, from, to, count, text, sure] of story.owned) {
        marks.push({ lane: lane + below, from: at(from), to: at(to), text, fill: fills.owned, label: sure ? `${story.at_least ? "≥ " : ""}${count}` : "", ink: inkOn(fills.owned), height: 0.5, shift: 0.12, unsure: !sure });
      }
      for (const [lane, from, to, blockers, text] of story.on_the_way) {
        const fill = blockers ? fills.waited : fills.on_the_way;
        marks.push({ lane: lane + below, from: at(from), to: at(to), text, fill, height: 0.2, shift: -0.34 });
        for (const other of blockers ?? []) marks.push({ kind: "link", lane: lane + below, other: other + below, from: at(to), to: at(to), text, fill: fills.waited });
      }
      for (const [lane, from, to, text] of story.giving_up) marks.push({ lane: lane + below, from: at(from), to: at(to), text, fill: fills.giving_up, height: 0.2, shift: -0.2 });
      for (const [lane, from, to, cost, text] of story.held_up) {
        culprits.add(lane + below);
        marks.push({ lane: lane + below, from: at(from), to: at(to), text, fill: shade(data.costs[cost][1]), height: 0.28, shift: -0.3 });
      }
    }
    // Lag and commit rate, each as high as its share of the highest.
    for (const [name, value, text, fill] of [["lag", 2, 3, data.marks.waited], ["records/s", 4, 5, data.marks.owned]]) {
      const most = Math.max(0, ...story.lag.map((each) => each[value] ?? 0));
      if (!story.lag.some((each) => each[value] !== null)) continue;
      lanes.push(name);
      for (const each of story.lag) {
        if (each[value] === null) continue;
        const height = most ? 0.04 + (0.86 * each[value]) / most : 0.04;
        marks.push({ lane: lanes.length - 1, from: at(each[0]), to: at(each[1]), text: each[text], fill: shade(fill), height, shift: (0.9 - height) / 2 });
      }
    }
    for (const [from, kind, text] of story.epochs) {
      marks.push({ kind: "line", lane: 1, from: at(from), to: at(from), text, fill: shade(data.kinds[kind ?? data.kinds.length - 1][1]) });
    }
    return [lanes, marks, culprits];
  }

  const opened = new Map(); // number of the group -> its section

  // A group for whose members the page has no room: what the table, the lanes and the findings show of it.
  function briefSection(number) {
    const [name, ...cells] = data.groups[number].cells;
    const headings = [...byId("group-table").tHead.rows[0].cells].map((cell) => cell.textContent.toLowerCase());
    const facts = cells.map((cell, place) => [headings[place + 1], textOf(cell)]).filter(([, text]) => text !== "–");
    const found = [...document.querySelectorAll("#all-findings li[data-group]")].filter((entry) => entry.dataset.group === name);
    const html = [
      `<p class="facts">${facts.map((fact) => escaped(fact.join(" "))).join(" · ")}</p><div class="picture"></div>`,
      `<p class="note">The page has no room for this group's members. With them: <code>${escaped(`${byId("opened").dataset.command} --group '${name.replaceAll("'", "'\\''")}'`)}</code></p>`,
      ...(found.length ? ["<h4>Findings</h4><ul>", ...found.map((entry) => `<li>${entry.innerHTML}</li>`), "</ul>"] : []),
    ];
    const bars = lanesData.groups[number] ?? [];
    const origin = lanesData.origin + Math.min(...bars.map((bar) => bar[0]));
    const to = Math.max(1, ...bars.map((bar) => bar[0] + bar[1] + lanesData.origin - origin));
    return { html: html.join(""), gantt: { origin: bars.length ? origin : first, to, lanes: [], partitions: [], noun: "rebalance", bars } };
  }

  function briefMarks(story, chosen, choose) {
    const at = (ms) => ms + lanesData.origin;
    const marks = story.bars.map(([from, width, , cost, text, key]) => ({
      lane: 0, from: at(from), to: at(from + width), text, fill: shade(data.costs[cost][1]), height: 0.7, key, open: () => choose(key),
    }));
    const band = marks.find((mark) => mark.key === chosen);
    return [["rebalances"], band ? [{ ...band, kind: "band" }, ...marks] : marks];
  }

  // The group whose section is looked at, and the rebalance in it.
  const shown = { number: null, key: null };

  function choose(number, key) {
    const [after, width, , , text] = (lanesData.groups[number] ?? []).find((bar) => bar[5] === key) ?? [];
    Object.assign(shown, { number, key });
    const { section, show } = opened.get(number);
    let row = null;
    for (const each of section.querySelectorAll("table.rebalances tr[data-key]")) {
      each.classList.toggle("chosen", each.dataset.key === key);
      if (each.dataset.key === key) row = each;
    }
    show();
    if (text === undefined && !row) return say(`The page has no room for rebalance ${key} of this group.`);
    const from = text === undefined ? Number(row.dataset.from) : after + lanesData.origin;
    const to = text === undefined ? Number(row.dataset.to ?? data.to) : from + width;
    const margin = Math.max(1000, Math.round((to - from) * 0.4));
    if (!parts().has("t")) setView(from - margin, to + margin);
    if (text !== undefined) say(`${textOf(data.groups[number].cells[0])}, ${text}`);
  }

  async function openGroup(number, { scroll = true, rebalance = null, isNew = false } = {}) {
    // The address holds the choice, so that it can be sent and the browser's way back works.
    if (isNew) history.pushState(null, "", address({ number, key: rebalance, withTime: false }));
    const group = data.groups[number];
    if (!group) return;
    if (!opened.has(number)) {
      const section = document.createElement("section");
      opened.set(number, { section, show: () => {} });
      if (group.section !== null) packedSections ??= read("sections-data");
      const { html, gantt } = group.section === null ? briefSection(number) : await unpack(packedSections[group.section]);
      section.className = "group";
      section.id = `g${number}`;
      section.setAttribute("aria-labelledby", `g${number}-name`);
      const head = document.createElement("div");
      head.className = "head";
      const name = document.createElement("h3");
      name.id = `g${number}-name`;
      name.tabIndex = -1;
      name.textContent = group.cells[0];
      const buttons = document.createElement("span");
      buttons.className = "buttons";
      const button = (text, act) => {
        const made = document.createElement("button");
        made.type = "button";
        made.textContent = text;
        made.addEventListener("click", () => act(made));
        buttons.append(made);
        return made;
      };
      const body = document.createElement("div");
      body.innerHTML = html; // made by the page's own template, which escapes every name
      const picture = body.querySelector(".picture");
      picture.classList.add("chart");
      let withPartitions = false;
      const pick = (key) => openGroup(number, { rebalance: key, scroll: false, isNew: true });
      const marksOf = () => {
        const key = shown.number === number ? shown.key : null;
        return gantt.bars ? briefMarks(gantt, key, pick) : ganttMarks(gantt, withPartitions, key, pick);
      };
      const show = () => {
        const lanes = marksOf()[0];
        picture.style.height = laneHeight(lanes.length, 22);
        draw(picture);
      };
      opened.set(number, { section, show });
      button("Zoom to this group", () => {
        const margin = Math.max(1, Math.round(gantt.to * 0.02));
        setView(gantt.origin - margin, gantt.origin + gantt.to + margin);
      });
      if (gantt.partitions.length) {
        const lanesOf = button("Lanes of partitions", () => {
          withPartitions = !withPartitions;
          lanesOf.setAttribute("aria-pressed", String(withPartitions));
          show();
        });
        lanesOf.setAttribute("aria-pressed", "false");
      }
      button("Close", () => {
        charts.get(picture).chart?.dispose();
        charts.delete(picture);
        opened.delete(number);
        section.remove();
        if (shown.number === number) Object.assign(shown, { number: null, key: null });
        writeHash();
      });
      head.append(name, buttons);
      section.append(head, body);
      if (gantt.note) {
        const note = document.createElement("p");
        note.className = "note";
        note.textContent = gantt.note;
        picture.after(note);
      }
      byId("opened").prepend(section);
      body.querySelectorAll("table.sorted").forEach(makeSortable);
      const make = (element) => {
        const [lanes, marks, culprits] = marksOf();
        charts.get(element).label = (lane) => say(lane < HEAD.length ? `${lanes[lane]} of ${group.cells[0]}` : `${lanes[lane]}${culprits?.has(lane) ? ": held the group up" : ""}`);
        return marksOption(element, lanes, marks, culprits);
      };
      picture.style.height = laneHeight(marksOf()[0].length, 22);
      add(picture, `${group.cells[0]} over time: its ${gantt.bars ? "rebalances" : `state, its ${gantt.noun}s, a lane for each member`}`, make, (chart) => openClicked(picture, chart));
    }
    if (rebalance !== null) choose(number, rebalance);
    else if (scroll) Object.assign(shown, { number, key: null });
    if (isNew) writeHash();
    if (scroll) {
      const { section } = opened.get(number);
      section.scrollIntoView();
      section.querySelector("h3")?.focus({ preventScroll: true });
    }
  }

  // --- links that last ---------------------------------------------------------------------------

  const parts = () => new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B"));

  function hashGroup() {
    const wanted = parts().get("group");
    const number = data.groups.findIndex((group) => group.cells[0] === wanted);
    return number < 0 ? null : number;
  }

  const FILTERS = { cause: "filter-cause", severity: "filter-severity", cluster: "filter-cluster", q: "filter-group", find: "search" };

  function address({ number, key, withTime = true }) {
    const pieces = [];
    if (number !== null) pieces.push(data.groups[number].link.slice(1));
    if (number !== null && key !== null) pieces.push(`rebalance=${encodeURIComponent(key)}`);
    if (withTime && !isWhole()) pieces.push(`t=${view.from},${view.to}`);
    for (const [name, id] of Object.entries(FILTERS)) if (byId(id)?.value) pieces.push(`${name}=${encodeURIComponent(byId(id).value)}`);
    return pieces.length ? `#${pieces.join("&")}` : location.pathname + location.search;
  }

  function writeHash() {
    history.replaceState(null, "", address(shown));
  }

  async function readHash(options) {
    const asked = parts();
    const times = (asked.get("t") ?? "").split(",").map(Number);
    const number = hashGroup();
    for (const [name, id] of Object.entries(FILTERS)) if (asked.has(name) && byId(id)) byId(id).value = asked.get(name);
    if (times.length === 2 && times.every(Number.isFinite) && times[0] < times[1]) setView(times[0], times[1]);
    if ([...asked.keys()].some((name) => name in FILTERS)) filtersChanged();
    if (number !== null) {
      await openGroup(number, { ...options, rebalance: asked.get("rebalance") });
      writeHash();
    } else if (asked.has("group")) {
      complain(`The page has no group ${asked.get("group")}.`);
    }
    return number !== null;
  }
  addEventListener("hashchange", () => readHash());

  // --- the table of groups, and sorting ----------------------------------------------------------

  const body = document.querySelector("#group-table tbody");
  const search = byId("search");
  const SHOWN = body.rows.length;
  const texts = data.groups.map((row) => row.cells.map(textOf).join(" ").toLowerCase());
  let order = data.groups.map((_, number) => number);

  function showGroups() {
    const wanted = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const hits = order.filter((number) => wanted.every((word) => texts[number].includes(word)) && passes(number));
    body.replaceChildren(...hits.slice(0, SHOWN).map((number) => {
      const group = data.groups[number];
      const row = document.createElement("tr");
      group.cells.forEach((text, place) => {
        const cell = row.insertCell();
        cell.className = data.right[place] ? "right" : place === 0 ? "name" : "";
        if (place === 0 && group.link) {
          const anchor = document.createElement("a");
          anchor.href = group.link;
          anchor.textContent = text;
          cell.append(anchor);
        } else if (Array.isArray(text)) {
          cell.textContent = text[0];
          if (text[1]) {
            const bounds = document.createElement("span");
            bounds.className = "bounds";
            bounds.textContent = text[1];
            cell.append(" ", bounds);
          }
        } else {
          cell.textContent = text;
        }
      });
      return row;
    }));
    labelCells(byId("group-table"));
    showNote("no-hits", !hits.length && data.groups.length > 0 && "No group passes the search and the filters.");
    body.closest("table").hidden = !hits.length;
    const isFiltered = hits.length !== data.groups.length;
    byId("found").textContent = isFiltered ? `${hits.length.toLocaleString("en")} of ${data.groups.length.toLocaleString("en")}` : "";
    byId("more-groups").hidden = isFiltered;
  }

  const compare = (one, other) => (typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other), "en", { numeric: true }));

  // A heading becomes a button: the first press sorts numbers from the largest, texts from the first.
  function sortButtons(table, isNumber, sort) {
    [...table.tHead.rows[0].cells].forEach((cell, place) => {
      if (cell.tagName !== "TH") return;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...cell.childNodes);
      cell.append(button);
      button.addEventListener("click", () => {
        const before = cell.getAttribute("aria-sort");
        const down = before ? before === "ascending" : isNumber(place);
        for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", down ? "descending" : "ascending");
        sort(place, down ? -1 : 1);
      });
    });
  }

  // A card on a narrow screen has its headings beside the values.
  function labelCells(table) {
    const headings = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
    for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, place) => { cell.dataset.label = headings[place]; });
  }

  function makeSortable(table) {
    labelCells(table);
    const key = (row, place) => {
      const cell = row.cells[place];
      return cell.dataset.sort === undefined ? cell.textContent.trim() : Number(cell.dataset.sort);
    };
    sortButtons(table, (place) => table.tBodies[0].rows[0]?.cells[place]?.dataset.sort !== undefined, (place, sign) => {
      const rows = [...table.tBodies[0].rows].sort((one, other) => sign * compare(key(one, place), key(other, place)));
      table.tBodies[0].append(...rows);
      if (table.id === "all-rebalances") filterRebalances();
    });
  }

  document.querySelectorAll("table.sorted").forEach(makeSortable);
  sortButtons(byId("group-table"), (place) => typeof data.groups[0]?.keys[place] === "number", (place, sign) => {
    order.sort((one, other) => sign * compare(data.groups[one].keys[place], data.groups[other].keys[place]) || one - other);
    showGroups();
  });
  search.addEventListener("input", () => {
    showGroups();
    writeHash();
  });
  search.form.addEventListener("submit", (event) => event.preventDefault());

  // --- what follows from a change ----------------------------------------------------------------

  let waiting = 0;
  function filtersChanged() {
    filterFindings();
    filterRebalances();
    showGroups();
    redrawBuckets();
    redrawLanes();
  }

  function viewChanged() {
    for (const [id, value] of [["from", view.from], ["to", view.to]]) if (byId(id)) byId(id).value = moment(value);
    for (const [element, { chart }] of charts) {
      if (element.id === "chart-lanes") continue;
      const bars = element.id.startsWith("chart-");
      chart?.setOption(bars ? { ...charts.get(element).make(element) } : { xAxis: { min: view.from, max: view.to } });
    }
    const lanes = byId("chart-lanes");
    charts.get(lanes)?.chart?.setOption({ xAxis: { min: view.from, max: view.to } });
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      filtersChanged();
      writeHash();
    }, 150);
  }

  function complain(sentence) {
    byId("complaint").textContent = sentence;
    byId("complaint").hidden = !sentence;
  }

  function clearFilters() {
    byId("filters").reset();
    complain("");
    search.value = "";
    setView(whole.from, whole.to);
    for (const [id, value] of [["from", view.from], ["to", view.to]]) byId(id).value = moment(value);
    filtersChanged();
    writeHash();
  }

  // Why a stretch of time cannot be shown; an empty text if it can.
  function wrongTimes(from, to) {
    const bad = [["from", from], ["to", to]].find(([, at]) => !Number.isFinite(at));
    if (bad) return `“${byId(bad[0]).value}” is not a moment: write it as ${moment(first).slice(0, 19)}, in UTC.`;
    if (from >= to) return "The start has to be before the end.";
    if (from > last) return `The log ends at ${moment(data.log_end ?? last)} UTC: nothing after that is known.`;
    if (to < first) return `What this page shows begins at ${moment(first)} UTC.`;
    return "";
  }

  if (byId("filters")) {
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    for (const id of ["filter-cause", "filter-severity", "filter-cluster", "filter-group"]) byId(id)?.addEventListener("input", () => {
      filtersChanged();
      writeHash();
    });
    for (const button of document.querySelectorAll("[data-step]")) button.addEventListener("click", steps[button.dataset.step]);
    byId("clear").addEventListener("click", clearFilters);
    const typed = (text) => Date.parse(`${text.trim().replace(" ", "T").replace(/^(\d{4}-\d\d-\d\d)$/, "$1T00:00").replace(/Z?$/, "Z")}`);
    for (const id of ["from", "to"]) {
      byId(id).value = moment(view[id]);
      byId(id).addEventListener("change", () => {
        const [from, to] = [typed(byId("from").value), typed(byId("to").value)];
        const why = wrongTimes(from, to);
        complain(why);
        for (const each of ["from", "to"]) byId(each).setAttribute("aria-invalid", String(Boolean(why)));
        if (!why) setView(from, to);
      });
    }
    byId("lanes-before").addEventListener("click", () => page(-1));
    byId("lanes-after").addEventListener("click", () => page(1));
  }

  function redraw() { for (const element of charts.keys()) if (element.id === "chart-lanes") redrawLanes(); else draw(element); }
  night.addEventListener("change", redraw);
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; redraw(); } });

  // Paper is white, and narrower than most screens.
  addEventListener("beforeprint", () => {
    onPaper = true;
    document.documentElement.classList.add("paper");
    redraw();
  });
  addEventListener("afterprint", () => {
    onPaper = false;
    document.documentElement.classList.remove("paper");
    redraw();
  });

  async function start() {
    if (data.buckets.length) {
      add(byId("chart-rebalances"), "Rebalances over time, by cause", rebalances);
      add(byId("chart-unsettled"), "Time spent rebalancing, over time, by what cost it", unsettled);
    }
    showGroups();
    filterRebalances();
    lanesData = await unpack(read("lanes-data"));
    if (byId("chart-lanes")) {
      const lost = data.groups.map((group) => group.keys[4]);
      byLoss = data.groups.map((_, number) => number).filter((number) => lanesData.groups[number]?.length).sort((one, other) => lost[other] - lost[one] || one - other);
      byId("chart-lanes").style.height = laneHeight(Math.min(LANES, byLoss.length), 18);
      add(byId("chart-lanes"), "Groups by time spent rebalancing, a bar for each rebalance in the colour of what cost its time", lanesOption, (chart) => openClicked(byId("chart-lanes"), chart));
    }
    const isAsked = await readHash();
    for (const [element, entry] of charts) if (!entry.chart && isInView(element)) draw(element);
    document.documentElement.dataset.ready = "yes"; // what is in view can be used
    await afterPainting();
    isOpen = true;
    for (const [element, entry] of charts) {
      if (entry.chart) continue;
      draw(element);
      await afterPainting();
    }
    if (!isAsked) {
      const worst = data.groups.findIndex((group) => group.cells[0] === data.worst && group.section !== null);
      const firstWith = worst >= 0 ? worst : data.groups.findIndex((group) => group.section !== null);
      if (firstWith >= 0) await openGroup(firstWith, { scroll: false });
    }
    document.documentElement.dataset.drawn = "yes"; // and what is not in view
  }
  start();
})();
