// One map, in a notebook or in a page of its own: unpacks the lines that Python packed, starts kepler.gl and draws a legend above it.
// The model holds: state (JSON text), lines (int32, see map_lines.py), kepler (gzipped module of kepler.gl).



function bytes(value) {
  return value instanceof DataView ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value);
}

async function unzipped(data) {
  const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

function startKepler(model) {
  const shared = (globalThis.trajkitKepler ??= {}); // maps on one page share the parsed module
  const state = JSON.parse(model.get("state"));
  const kind = state.online ? "online" : "offline";
  shared[kind] ??= unzipped(bytes(model.get("kepler"))).then(async (code) => {
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    return (await import(url)).default;
  });
  return shared[kind];
}

function* unpacked(state, packed) {
  const all = new Int32Array(packed.slice().buffer);
  let at = 0;
  for (const { id, lines, points, zero_s } of state.lines) {
    const lengths = all.subarray(at, (at += lines));
    const places = all.subarray(at, (at += 2 * points));
    const seconds = zero_s === null ? null : all.subarray(at, (at += points));
    yield { id, lengths, places, seconds, zero_s };
  }
}

function lineFeatures({ lengths, places, seconds, zero_s }) {
  const features = [];
  let p = 0;
  for (const length of lengths) {
    const coordinates = [];
    for (const end = p + length; p < end; p++) {
      const place = [places[2 * p] / 1e6, places[2 * p + 1] / 1e6];
      coordinates.push(seconds ? [...place, 0, zero_s + seconds[p]] : place);
    }
    features.push({ type: "Feature", properties: {}, geometry: { type: "LineString", coordinates } });
  }
  return { type: "FeatureCollection", features };
}

function oneFeature(part) {
  const coordinates = lineFeatures(part).features.map((f) => f.geometry.coordinates);
  const geometry = { type: "MultiLineString", coordinates };
  return { type: "FeatureCollection", features: [{ type: "Feature", properties: {}, geometry }] };
}

function pointTable({ places }) {
  const rows = [];
  for (let p = 0; p < places.length; p += 2) rows.push([places[p + 1] / 1e6, places[p] / 1e6]);
  return { columns: ["lat", "lon"], data: rows };
}

function keplerSets(model) {
  const state = JSON.parse(model.get("state"));
  const wanted = new Set(state.config.config.visState.layers.map((l) => l.config.dataId));
  const sets = {};
  for (const part of unpacked(state, bytes(model.get("lines")))) {
    if (!part.lengths.length) continue; // kepler.gl refuses a set without rows
    const { id } = part;
    if (wanted.has(id)) sets[id] = { id, format: "geojson", data: part.seconds ? lineFeatures(part) : oneFeature(part) };
    const points = `${id} points`;
    if (wanted.has(points)) sets[points] = { id: points, format: "df", data: pointTable(part) };
  }
  return sets;
}

// what kepler.gl's own widget asks of its model
function keplerModel(model, view) {
  const listeners = {};
  const values = { mapbox_token: "", theme: "light", app_name: "trajkit map" };
  const load = () => {
    const state = JSON.parse(model.get("state"));
    const mapState = { ...state.config.config.mapState, ...view };
    const config = { ...state.config, config: { ...state.config.config, mapState } };
    Object.assign(values, { config, data: keplerSets(model), height: state.height });
  };
  load();
  return {
    load,
    fire: (name) => (listeners[`change:${name}`] ?? []).forEach((call) => call()),
    get: (name) => values[name],
    set: (name, value) => (values[name === "config" ? "seen" : name] = value),
    save_changes: () => {},
    send: () => {},
    on: (name, call) => (listeners[name] ??= []).push(call),
    off: (name, call) => (listeners[name] = (listeners[name] ?? []).filter((c) => c !== call)),
  };
}

function element(tag, style, text = "") {
  const made = document.createElement(tag);
  made.style.cssText = style;
  made.textContent = text;
  return made;
}

function drawLegend(box, state) {
  box.replaceChildren();
  const names = element("div", "display:flex;flex-wrap:wrap;gap:4px 18px;align-items:center");
  for (const { name, colour, side } of state.legend) {
    const entry = element("span", "display:inline-flex;align-items:center;gap:6px;font-weight:600");
    entry.append(element("span", `width:26px;height:5px;background:${colour}`), element("span", "", side ? `${side}: ${name}` : name));
    names.append(entry);
  }
  box.append(names, element("div", "margin-top:3px;color:#444", state.notes.join(" · ")));
}

function sayWhy(place, error) {
  place.classList.add("trajkit-failed");
  console.warn("trajkit map:", error);
  const why = `The interactive map cannot be shown: ${error.message ?? error}. The static figure shows the same sets.`;
  place.replaceChildren(element("p", "padding:12px;margin:0;border:1px solid #b00;color:#700;font:14px sans-serif", why));
}

function checkBrowser() {
  if (!document.createElement("canvas").getContext("webgl2")) throw new Error("this browser has no WebGL 2");
}

// two maps of one shape differ in their data alone, which kepler.gl can replace in place
function shape(model) {
  const { lines, online, height, config } = JSON.parse(model.get("state"));
  const { layers, splitMaps } = config.config.visState;
  const looks = layers.map((l) => [l.id, l.config.color, l.config.visConfig]);
  return JSON.stringify([lines.map((l) => [l.id, l.lines > 0]), online, height, looks, splitMaps]);
}

// where the reader has moved the map to
function viewOf(inner, model) {
  const seen = inner?.get("seen")?.config.mapState;
  const { isSplit } = JSON.parse(model.get("state")).config.config.mapState;
  if (!seen || seen.isSplit !== isSplit) return {};
  return { latitude: seen.latitude, longitude: seen.longitude, zoom: seen.zoom };
}

async function render({ model, el }) {
  const legend = element("div", "padding:6px 8px;font:13px/1.35 sans-serif;color:#111;background:#fff");
  const place = element("div", "position:relative;background:#fff;overflow:hidden");
  legend.className = "trajkit-legend";
  place.className = "trajkit-map";
  place.setAttribute("role", "img");
  el.append(legend, place);
  let stop = null;
  let inner = null;
  let drawnShape = "";
  const draw = async () => {
    const state = JSON.parse(model.get("state"));
    drawLegend(legend, state);
    place.setAttribute("aria-label", state.alt);
    if (inner && drawnShape === shape(model)) {
      inner.load();
      inner.fire("data");
      return;
    }
    drawnShape = shape(model);
    if (stop) stop();
    stop = null;
    place.replaceChildren(element("div", ""));
    checkBrowser();
    const kepler = await startKepler(model);
    inner = keplerModel(model, viewOf(inner, model));
    stop = kepler.render({ model: inner, el: place.firstChild });
  };
  const show = () => draw().catch((error) => sayWhy(place, error));
  let last = show();
  const next = () => (last = last.then(show)); // one after the other, also while kepler.gl is starting
  model.on("change:state", next);
  await last;
  return () => {
    model.off("change:state", next);
    if (stop) stop();
  };
}

export default { render };
