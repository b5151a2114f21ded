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
  const afterPainting = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));

  const GRID = { left: 150, right: 16, top: 8, bottom: 26 };
  const grid = (element) => ({ ...GRID, left: element.clientWidth < 500 ? 92 : element.clientWidth < 900 ? GRID.left : 190 });

  // Names lose their end, or their middle or beginning where more of them can be told apart by the rest.
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

  // Bars, lozenges and lines of one picture. A mark: {lane, from, to, fill, text, low, height, kind}.
  function marksOption(element, lanes, marks) {
    charts.get(element).marks = marks;
    charts.get(element).current = -1;
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
      if (mark.kind === "link") {
        const other = area.y + band * (mark.other + 0.5);
        return { type: "line", shape: { x1: left, y1: middle, x2: left, y2: other }, style: { stroke: mark.fill, lineWidth: 1.5, lineDash: [3, 3] } };
      }
      const right = Math.min(Math.max(x(mark.to), left + 2), area.x + area.width);
      if (right <= left) return null;
      const height = Math.max(2, band * (mark.height ?? 0.6));
      const shape = { x: left, y: middle - height / 2 + band * (mark.shift ?? 0), width: right - left, height };
      const bar = { type: "rect", shape, style: { fill: mark.fill, ...(right - left > 6 ? { stroke: colour("paper"), lineWidth: 1 } : {}) } };
      if (!mark.label || right - left < 18) return bar;
      return { type: "group", children: [bar, { type: "text", style: { x: (left + right) / 2, y: shape.y + height / 2, text: mark.label, align: "center", verticalAlign: "middle", fontSize: 11, fill: mark.ink } }] };
    };
    const letters = Math.floor((margins.left - 14) / 6.5);
    return {
      grid: margins,
      tooltip: tooltip((point) => told(marks[point.dataIndex], lanes)),
      xAxis: timeAxis(),
      yAxis: {
        type: "category", data: lanes, inverse: true, ...axis(), splitLine: { show: true, lineStyle: { color: colour("grid") } }, axisTick: { show: false },
        axisLabel: { color: colour("ink"), interval: 0, formatter: shortener(lanes, letters) },
      },
      series: [{ type: "custom", clip: false, progressive: 0, renderItem: render, data: marks.map((mark) => [mark.from, mark.lane]), encode: { x: 0, y: 1 } }],
    };
  }

  const plain = (mark, lanes) => `${lanes[mark.lane]}, ${moment(mark.from)}: ${mark.text}`;
  const told = (mark, lanes) => `<b>${escaped(lanes[mark.lane])}</b><br>${escaped(moment(mark.from))}<br>${escaped(mark.text)}`;

  function goToMark(element, step) {
    const entry = charts.get(element);
    if (!entry.marks) return;
    const seen = entry.marks.map((mark, place) => [mark, place]).filter(([mark]) => mark.kind !== "link" && mark.to >= view.from && mark.from <= view.to)
      .sort(([one], [other]) => one.from - other.from || one.lane - other.lane).map(([, place]) => place);
    if (!seen.length) return say("No mark in this stretch of time.");
    const at = seen.indexOf(entry.current);
    entry.current = seen[at < 0 ? (step > 0 ? 0 : seen.length - 1) : (at + step + seen.length) % seen.length];
    entry.chart.dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: entry.current });
    say(plain(entry.marks[entry.current], entry.lanes));
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
        n: () => goToMark(element, 1), p: () => goToMark(element, -1),
      };
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
  }

  // Lines at whole seconds, minutes, hours: a tenth of a minute is no round number.
  function durationSteps([{ data: bars }]) {
    const most = Math.max(1, ...bars.map((bar) => bar[1]));
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
      yAxis: { type: "value", minInterval: 1, ...steps(series), ...axis(), axisLabel: { color: colour("soft"), formatter: unit } },
      series: series.map((one) => ({ ...one, type: "bar", stack: "all", clip: true, barWidth: Math.min(60, Math.max(1.5, (0.8 * (element.clientWidth - 90) * size) / (view.to - view.from))) })),
    };
  }

  // What passes the filters, bucket by bucket, from the rebalances of the lanes: [from, time not stable, count by cause].
  function passingBuckets() {
    const size = data.bucket_ms;
    const found = new Map();
    const at = (from) => {
      if (!found.has(from)) found.set(from, [from, 0, data.cause_names.map(() => 0)]);
      return found.get(from);
    };
    data.groups.forEach((_, number) => {
      if (!passes(number)) return;
      for (const [after, width, cause] of lanesData.groups[number] ?? []) {
        if (wantedCause() !== null && cause !== wantedCause()) continue;
        const from = after + lanesData.origin;
        if (cause !== null) at(Math.floor(from / size) * size)[2][cause] += 1;
        for (let bucket = Math.floor(from / size) * size; bucket < from + width; bucket += size) {
          at(bucket)[1] += Math.min(bucket + size, from + width) - Math.max(bucket, from);
        }
      }
    });
    return [...found.values()].sort((one, other) => one[0] - other[0]);
  }

  const middle = data.bucket_ms / 2;
  let buckets = data.buckets;
  const rebalances = (element) => barsOverTime(element, data.cause_names.map((name, cause) => ({
    name, itemStyle: { color: shade(data.cause_shades[cause]) },
    data: buckets.map((bucket) => [bucket[0] + middle, bucket[2][cause]]),
  })), String);
  const unsettled = (element) => barsOverTime(element, [{
    name: "not stable", itemStyle: { color: shade(data.marks.not_stable) }, data: buckets.map((bucket) => [bucket[0] + middle, bucket[1]]),
  }], duration, durationSteps);

  function redrawBuckets() {
    const isFiltered = lanesData !== null && (wantedCause() !== null || wantedSeverity() !== "" || wantedGroup() !== "");
    if (!isFiltered && buckets === data.buckets) return;
    buckets = isFiltered ? passingBuckets() : data.buckets;
    for (const id of ["chart-rebalances", "chart-unsettled"]) if (charts.has(byId(id))) draw(byId(id));
  }

  // --- filters -----------------------------------------------------------------------------------

  let lanesData = null; // {origin, groups: bars of each group}
  const wantedCause = () => (byId("filter-cause")?.value ? Number(byId("filter-cause").value) : null);
  const wantedSeverity = () => byId("filter-severity")?.value ?? "";
  const wantedGroup = () => (byId("filter-group")?.value ?? "").trim().toLowerCase();

  function barsSeen(number) {
    const cause = wantedCause();
    const [from, to] = [view.from - lanesData.origin, view.to - lanesData.origin];
    return (lanesData.groups[number] ?? []).filter((bar) => bar[0] + bar[1] >= from && bar[0] <= to && (cause === null || bar[2] === cause));
  }

  function passes(number) {
    const group = data.groups[number];
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
        entry.hidden = Number(entry.dataset.from) > view.to || ended < view.from || (wantedGroup() !== "" && !entry.dataset.group.toLowerCase().includes(wantedGroup()));
      }
      finding.hidden = (wantedSeverity() !== "" && finding.dataset.severity !== wantedSeverity()) || entries.every((entry) => entry.hidden);
    }
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
    const marks = shown.flatMap((number, lane) => barsSeen(number).map(([from, width, cause, text]) => ({
      lane, number, from: from + lanesData.origin, to: from + width + lanesData.origin, text, fill: cause === null ? colour("soft") : shade(data.cause_shades[cause]), height: 0.7,
    })));
    const names = shown.map((number) => data.groups[number].cells[0]);
    byId("lanes-told").textContent = passing.length ? `${lanesFrom + 1} to ${lanesFrom + shown.length} of ${passing.length.toLocaleString("en")}` : "No group passes the filters.";
    byId("lanes-before").disabled = lanesFrom === 0;
    byId("lanes-after").disabled = lanesFrom + LANES >= passing.length;
    charts.get(element).lanes = names;
    charts.get(element).numbers = shown;
    return marksOption(element, names.length ? names : [""], marks);
  }

  const laneHeight = (count, each) => `${Math.max(4, count) * each + 40}px`;

  function redrawLanes() {
    const element = byId("chart-lanes");
    if (!element || !charts.has(element)) return;
    element.style.height = laneHeight(Math.min(LANES, byLoss.filter(passes).length), 18);
    draw(element);
  }

  // A click may be the first of a double click, which shows the whole time: a group that opens would be under the second.
  let opening;
  const openClicked = (chart) => chart.on("click", (point) => {
    const { number } = charts.get(byId("chart-lanes")).marks[point.dataIndex];
    clearTimeout(opening);
    opening = setTimeout(() => openGroup(number), 300);
  });

  function page(step) {
    lanesFrom = Math.max(0, lanesFrom + step * LANES);
    redrawLanes();
  }

  // --- one group ---------------------------------------------------------------------------------

  function ganttMarks(story, withPartitions) {
    const at = (ms) => ms + story.origin;
    const lanes = ["state", "without owner", ...(withPartitions ? story.partitions : story.lanes)];
    const marks = [];
    for (const [from, to, state, text] of story.states) {
      const [, shades, quiet] = data.states[state];
      marks.push({ lane: 0, from: at(from), to: at(to), text, fill: shade(shades), height: quiet ? 0.3 : 0.75, quiet });
    }
    // What is short and matters lies on top of what is long and does not.
    marks.sort((one, other) => Number(other.quiet) - Number(one.quiet));
    for (const [from, to, text] of story.unowned) marks.push({ lane: 1, from: at(from), to: at(to), text, fill: shade(data.marks.unowned), height: 0.6 });
    if (withPartitions) {
      for (const [lane, from, to, member, name] of story.held) {
        const fill = member === null ? colour("soft") : shade(data.cause_shades[member % data.cause_shades.length]);
        marks.push({ lane: lane + 2, from: at(from), to: at(to), text: `${story.at_least ? "last given to" : "owned by"} ${name}`, fill, label: name, ink: inkOn(fill.length === 7 ? fill : "#888888") });
      }
    } else {
      const fills = Object.fromEntries(Object.entries(data.marks).map(([name, pair]) => [name, shade(pair)]));
      for (const [lane, from, to, count, text] of story.owned) marks.push({ lane: lane + 2, from: at(from), to: at(to), text, fill: fills.owned, label: `${story.at_least ? "≥ " : ""}${count}`, ink: inkOn(fills.owned), height: 0.5, shift: 0.12 });
      for (const [lane, from, to, blockers, text] of story.on_the_way) {
        const fill = blockers ? fills.waited : fills.on_the_way;
        marks.push({ lane: lane + 2, from: at(from), to: at(to), text, fill, height: 0.2, shift: -0.34 });
        for (const other of blockers ?? []) marks.push({ kind: "link", lane: lane + 2, other: other + 2, from: at(to), to: at(to), text, fill: fills.waited });
      }
      for (const [lane, from, to, text] of story.giving_up) marks.push({ lane: lane + 2, from: at(from), to: at(to), text, fill: fills.giving_up, height: 0.2, shift: -0.2 });
    }
    for (const [from, cause, text] of story.epochs) {
      marks.push({ kind: "line", lane: 0, from: at(from), to: at(from), text, fill: cause === null ? colour("soft") : shade(data.cause_shades[cause]) });
    }
    return [lanes, marks];
  }

  const opened = new Map(); // number of the group -> its section

  // A group for whose members the page has no room: what the table, the lanes and the findings tell of it.
  function briefSection(number) {
    const [name, ...cells] = data.groups[number].cells;
    const headings = [...byId("group-table").tHead.rows[0].cells].map((cell) => cell.textContent.toLowerCase());
    const facts = cells.map((text, place) => [headings[place + 1], text]).filter(([, text]) => text !== "–");
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

  function briefMarks(story) {
    const at = (ms) => ms + lanesData.origin;
    return [["rebalances"], story.bars.map(([from, width, cause, text]) => ({
      lane: 0, from: at(from), to: at(from + width), text, fill: cause === null ? colour("soft") : shade(data.cause_shades[cause]), height: 0.7,
    }))];
  }

  async function openGroup(number, { scroll = true } = {}) {
    const group = data.groups[number];
    if (!group) return;
    if (!opened.has(number)) {
      const section = document.createElement("section");
      opened.set(number, section);
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
      const marksOf = () => (gantt.bars ? briefMarks(gantt) : ganttMarks(gantt, withPartitions));
      const show = () => {
        const lanes = marksOf()[0];
        picture.style.height = laneHeight(lanes.length, 22);
        draw(picture);
      };
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
        if (hashGroup() === number) writeHash(null);
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
        const [lanes, marks] = marksOf();
        charts.get(element).lanes = lanes;
        return marksOption(element, lanes, marks);
      };
      picture.style.height = laneHeight(marksOf()[0].length, 22);
      add(picture, `${group.cells[0]} over time: its ${gantt.bars ? "rebalances" : `state, its ${gantt.noun}s, a lane for each member`}`, make);
    }
    if (scroll) {
      const section = opened.get(number);
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

  function writeHash(number) {
    const told = [];
    if (number !== null) told.push(data.groups[number].link.slice(1));
    if (!isWhole()) told.push(`t=${view.from},${view.to}`);
    history.replaceState(null, "", told.length ? `#${told.join("&")}` : location.pathname + location.search);
  }

  async function readHash(options) {
    const times = (parts().get("t") ?? "").split(",").map(Number);
    const number = hashGroup();
    if (times.length === 2 && times.every(Number.isFinite) && times[0] < times[1]) setView(times[0], times[1]);
    if (number !== null) {
      await openGroup(number, options);
      writeHash(number);
    }
    return number !== null;
  }
  addEventListener("hashchange", () => readHash());

  // --- the table of groups, and sorting ----------------------------------------------------------

  const body = document.querySelector("#group-table tbody");
  const search = byId("search");
  const SHOWN = body.rows.length;
  const texts = data.groups.map((row) => row.cells.join(" ").toLowerCase());
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
        } else {
          cell.textContent = text;
        }
      });
      return row;
    }));
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

  function makeSortable(table) {
    const key = (row, place) => {
      const cell = row.cells[place];
      return cell.dataset.sort === undefined ? cell.textContent.trim() : Number(cell.dataset.sort);
    };
    sortButtons(table, (place) => table.tBodies[0].rows[0]?.cells[place]?.dataset.sort !== undefined, (place, sign) => {
      const rows = [...table.tBodies[0].rows].sort((one, other) => sign * compare(key(one, place), key(other, place)));
      table.tBodies[0].append(...rows);
    });
  }

  document.querySelectorAll("table.sorted").forEach(makeSortable);
  sortButtons(byId("group-table"), (place) => typeof data.groups[0]?.keys[place] === "number", (place, sign) => {
    order.sort((one, other) => sign * compare(data.groups[one].keys[place], data.groups[other].keys[place]) || one - other);
    showGroups();
  });
  search.addEventListener("input", showGroups);
  search.form.addEventListener("submit", (event) => event.preventDefault());

  // --- what follows from a change ----------------------------------------------------------------

  let waiting = 0;
  function filtersChanged() {
    filterFindings();
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
      writeHash(hashGroup());
    }, 150);
  }

  function clearFilters() {
    byId("filters").reset();
    search.value = "";
    setView(whole.from, whole.to);
    for (const [id, value] of [["from", view.from], ["to", view.to]]) byId(id).value = moment(value);
    filtersChanged();
  }

  if (byId("filters")) {
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    for (const id of ["filter-cause", "filter-severity", "filter-group"]) byId(id).addEventListener("input", filtersChanged);
    for (const button of document.querySelectorAll("[data-step]")) button.addEventListener("click", steps[button.dataset.step]);
    byId("clear").addEventListener("click", clearFilters);
    const typed = (text) => Date.parse(`${text.trim().replace(" ", "T").replace(/Z?$/, "Z")}`);
    for (const id of ["from", "to"]) {
      byId(id).value = moment(view[id]);
      byId(id).addEventListener("change", () => {
        const [from, to] = [typed(byId("from").value), typed(byId("to").value)];
        const isRight = Number.isFinite(from) && Number.isFinite(to) && from < to;
        byId(id).setAttribute("aria-invalid", String(!isRight));
        if (isRight) setView(from, to);
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
      add(byId("chart-unsettled"), "Time not stable, over time", unsettled);
    }
    showGroups();
    lanesData = await unpack(read("lanes-data"));
    if (byId("chart-lanes")) {
      const lost = data.groups.map((group) => group.keys[4]);
      byLoss = data.groups.map((_, number) => number).filter((number) => lanesData.groups[number]?.length).sort((one, other) => lost[other] - lost[one] || one - other);
      byId("chart-lanes").style.height = laneHeight(Math.min(LANES, byLoss.length), 18);
      add(byId("chart-lanes"), "Groups by time not stable, a bar for each rebalance in the colour of its cause", lanesOption, openClicked);
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
      const firstWith = data.groups.findIndex((group) => group.section !== null);
      if (firstWith >= 0) await openGroup(firstWith, { scroll: false });
    }
    document.documentElement.dataset.drawn = "yes"; // and what is not in view
  }
  start();
})();
