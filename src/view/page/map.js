// map.js - the segments and their blocks at one moment: a bar a segment, a box
// a block.

const ROW_HEIGHT = 18, ROW_GAP = 8, ROW_LABEL = 15;
const MAP_EDGE = 8, MAP_LEAST = 128, MAP_HIGHEST = 16000;

// What is there in state k: segments with the allocations inside them.
function segmentsAt(device, k) {
  const s = device.segment, a = device.alloc;
  const rows = [];
  for (let i = 0; i < s.start.length; i++)
    if (s.start[i] < k && s.end[i] >= k)
      rows.push({ segment: i, address: s.address[i], bytes: s.size[i],
        used: 0, blocks: [] });
  rows.sort((x, y) => x.address - y.address);
  const joined = joinPages(device, rows);
  for (let i = 0; i < a.start.length; i++) {
    // Waiting for a stream: freed, but its place is not free yet.
    if (a.start[i] < k && Math.max(a.done[i], a.end[i]) >= k)
      putBlock(joined, device, i, k);
  }
  for (const row of joined) row.blocks.sort((x, y) => x.address - y.address);
  return joined;
}

// Pages of an expandable segment that follow each other are one row.
function joinPages(device, rows) {
  const out = [];
  for (const row of rows) {
    const last = out[out.length - 1];
    const expandable = device.segment.kind[row.segment] === 2;
    if (last && expandable && device.segment.kind[last.segment] === 2 &&
        device.segment.stream[last.segment] ===
            device.segment.stream[row.segment] &&
        last.address + last.bytes === row.address)
      last.bytes += row.bytes;
    else
      out.push(row);
  }
  return out;
}

function putBlock(rows, device, i, k) {
  const address = device.alloc.address[i];
  let low = 0, high = rows.length - 1, found = -1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (rows[middle].address <= address) {
      found = middle;
      low = middle + 1;
    } else {
      high = middle - 1;
    }
  }
  if (found < 0 || address >= rows[found].address + rows[found].bytes) return;
  const pending = device.alloc.end[i] < k;
  rows[found].blocks.push({ alloc: i, address, pending,
    bytes: device.alloc.rounded[i] });
  rows[found].used += device.alloc.rounded[i];
}

function rowTitle(device, row) {
  const s = device.segment, i = row.segment;
  const free = row.bytes - row.used;
  return `${addressText(row.address)}  ${SEGMENT_KINDS[s.kind[i]]}  ` +
    `stream ${device.streams[s.stream[i]]}  ${bytesText(row.bytes)}, ` +
    `${bytesText(free)} free`;
}

// Where each segment goes: in lines, as many as fit beside each other.
// Returns the height.
function layOut(rows, width) {
  let most = 1;
  for (const row of rows) most = Math.max(most, row.bytes);
  let x = MAP_EDGE, y = ROW_GAP;
  for (const row of rows) {
    // Sizes differ by thousands: a small segment is still to be seen.
    row.width = Math.max(MAP_LEAST,
      (width - 2 * MAP_EDGE) * Math.sqrt(row.bytes / most));
    if (x > MAP_EDGE && x + row.width > width - MAP_EDGE) {
      x = MAP_EDGE;
      y += ROW_HEIGHT + ROW_LABEL + ROW_GAP;
    }
    row.x = x;
    row.y = y + ROW_LABEL;
    x += row.width + MAP_EDGE;
  }
  return y + ROW_HEIGHT + ROW_LABEL + ROW_GAP;
}

// Draws what fits on a canvas, which has a largest size; returns the rows
// for hitMap().
function drawMap(canvas, device, k, groups, mask, selected) {
  const rows = segmentsAt(device, k);
  const height = layOut(rows, Math.max(canvas.clientWidth, 200));
  const g = fitCanvas(canvas, Math.max(60, Math.min(height, MAP_HIGHEST)));
  g.ctx.clearRect(0, 0, g.width, g.height);
  g.ctx.font = "12px system-ui, sans-serif";
  g.ctx.textBaseline = "top";
  if (rows.length === 0) {
    g.ctx.fillStyle = cssColour("--soft");
    g.ctx.fillText("Nothing is reserved at this moment.", 10, 10);
  }
  const colours = [];
  for (let group = 0; group <= groups.rest; group++)
    colours.push(groupColour(groups, group));
  const paint = { colours, groups, mask, selected, soft: cssColour("--soft"),
    free: cssColour("--free"), ink: cssColour("--ink") };
  for (const row of rows)
    if (row.y < g.height) drawRow(g.ctx, row, paint);
  return rows;
}

function drawRow(ctx, row, paint) {
  const free = row.bytes - row.used;
  ctx.fillStyle = paint.soft;
  ctx.textAlign = "left";
  ctx.fillText(`${bytesText(row.bytes)}` +
    (free > 0 ? `, ${bytesText(free)} free` : ""), row.x, row.y - ROW_LABEL,
    row.width);
  ctx.fillStyle = paint.free;
  ctx.fillRect(row.x, row.y, row.width, ROW_HEIGHT);
  const scale = row.width / row.bytes;
  for (const block of row.blocks) {
    const x = row.x + (block.address - row.address) * scale;
    const w = Math.max(block.bytes * scale, 0.6);
    const faded = paint.mask && !paint.mask[block.alloc];
    ctx.globalAlpha = faded ? 0.2 : block.pending ? 0.45 : 1;
    ctx.fillStyle = paint.colours[paint.groups.of[block.alloc]];
    ctx.fillRect(x, row.y, w > 3 ? w - 1 : w, ROW_HEIGHT);
    ctx.globalAlpha = 1;
    if (block.alloc === paint.selected) {
      ctx.strokeStyle = paint.ink;
      ctx.lineWidth = 2;
      ctx.strokeRect(x, row.y - 1, Math.max(w, 3), ROW_HEIGHT + 2);
    }
  }
}

// { row, alloc (-1: free space), gap: free bytes around the place }
function hitMap(rows, x, y) {
  for (const row of rows) {
    if (y < row.y || y > row.y + ROW_HEIGHT) continue;
    if (x < row.x || x > row.x + row.width) continue;
    const address = row.address + (x - row.x) * row.bytes / row.width;
    let before = row.address;
    for (const block of row.blocks) {
      if (address < block.address)
        return { row, alloc: -1, gap: block.address - before };
      if (address < block.address + block.bytes)
        return { row, alloc: block.alloc, gap: 0 };
      before = block.address + block.bytes;
    }
    return { row, alloc: -1, gap: row.address + row.bytes - before };
  }
  return null;
}
