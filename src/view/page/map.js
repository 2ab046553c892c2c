// map.js - the segments and blocks at one moment, all to the same scale: a bar
// for each segment, a box for each block.  A segment longer than a line
// continues in the next.

const ROW_HEIGHT = 18, ROW_GAP = 7, ROW_LABEL = 15;
const MAP_EDGE = 8, MAP_SPACE = 4, MAP_HIGHEST = 16000;
// The number of lines for all segments, unless another scale is chosen.
const MAP_LINES = 14;
// Minimum widths, so that every segment and block is visible.
const SEGMENT_MIN = 3, BLOCK_MIN = 0.6;

// The contents of state k: segments with their allocations.
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
    // Pending: freed, but its place is not free yet.
    if (a.start[i] < k && Math.max(a.done[i], a.end[i]) >= k)
      putBlock(joined, device, i, k);
  }
  for (const row of joined) row.blocks.sort((x, y) => x.address - y.address);
  return joined;
}

// Adjacent pages of an expandable segment form one row.
function joinPages(device, rows) {
  const { kind, stream } = device.segment, out = [];
  for (const row of rows) {
    const last = out[out.length - 1];
    if (last && kind[row.segment] === 2 && kind[last.segment] === 2 &&
        stream[row.segment] === stream[last.segment] &&
        last.address + last.bytes === row.address)
      last.bytes += row.bytes;
    else
      out.push(row);
  }
  return out;
}

function putBlock(rows, device, i, k) {
  const a = device.alloc, address = a.address[i], bytes = a.rounded[i];
  const row = rows[firstWhere(0, rows.length,
    (at) => rows[at].address > address) - 1];
  if (!row || address >= row.address + row.bytes) return;
  row.blocks.push({ alloc: i, address, pending: a.end[i] < k, bytes });
  row.used += bytes;
}

function rowTitle(device, row) {
  const s = device.segment, i = row.segment;
  const free = row.bytes - row.used;
  return `${addressText(row.address)}  ${SEGMENT_KINDS[s.kind[i]]}  ` +
    `stream ${device.streams[s.stream[i]]}  ${bytesText(row.bytes)}, ` +
    `${bytesText(free)} free`;
}

// Bytes for each pixel: a power of two, so that two moments can be compared.
function mapScale(rows, width) {
  let all = 0;
  for (const row of rows) all += row.bytes;
  const inside = (width - 2 * MAP_EDGE) * MAP_LINES;
  const scale = Math.pow(2, Math.ceil(Math.log2(Math.max(all, 1) / inside)));
  return Math.max(16, scale / Math.pow(2, state.finer));
}

// Place each segment: its pieces, one for each line that it is on.  Returns the
// height.
function layOut(rows, width, scale) {
  const edge = width - MAP_EDGE;
  let x = MAP_EDGE, y = ROW_GAP + ROW_LABEL;
  const nextLine = () => {
    x = MAP_EDGE;
    y += ROW_HEIGHT + ROW_LABEL + ROW_GAP;
  };
  for (const row of rows) {
    const wide = Math.max(SEGMENT_MIN, row.bytes / scale);
    if (x > MAP_EDGE && x + wide > edge) nextLine();
    row.pieces = [];
    row.scale = row.bytes / wide;
    for (let done = 0; done < wide && y < MAP_HIGHEST;) {
      const part = Math.min(wide - done, edge - x);
      row.pieces.push({ x, y, width: part, done });
      done += part;
      if (done < wide) nextLine();
      else x += part + MAP_SPACE;
    }
  }
  return y + ROW_HEIGHT + ROW_GAP;
}

// Draw what fits on a canvas, whose size is limited.  Returns the scale.
function drawMap() {
  const canvas = $("map"), width = Math.max(canvas.clientWidth, 200);
  // Largest first, so that the small ones are together at the end.
  const rows = state.rows = segmentsAt(state.device, state.cursor)
    .sort((x, y) => y.bytes - x.bytes || x.address - y.address);
  const scale = mapScale(rows, width);
  const height = layOut(rows, width, scale);
  const { ctx } = fitCanvas(canvas, clamp(height, 60, MAP_HIGHEST));
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  if (rows.length === 0) {
    ctx.fillStyle = cssColour("--soft");
    ctx.fillText("Nothing is reserved at this moment.", 10, 10);
  }
  for (const row of rows) drawRow(ctx, row);
  return scale;
}

// A label is drawn only if it does not reach into the next segment.
function rowLabel(row) {
  const free = row.bytes - row.used;
  return bytesText(row.bytes) +
    (free > 0 ? `, ${bytesText(free)} free` : "");
}

function drawRow(ctx, row) {
  ctx.fillStyle = cssColour("--free");
  for (const { x, y, width } of row.pieces)
    ctx.fillRect(x, y, width, ROW_HEIGHT);
  const [first] = row.pieces;
  if (first) {
    ctx.fillStyle = cssColour("--soft");
    ctx.fillText(fitText(ctx, rowLabel(row), first.width), first.x,
      first.y - ROW_LABEL);
  }
  for (const block of row.blocks) drawBlock(ctx, row, block);
}

function drawBlock(ctx, row, block) {
  const from = (block.address - row.address) / row.scale;
  const to = from + Math.max(block.bytes / row.scale, BLOCK_MIN);
  const faded = state.mask && !state.mask[block.alloc] || !isShown(block.alloc);
  ctx.globalAlpha = faded ? 0.2 : block.pending ? 0.45 : 1;
  ctx.fillStyle = allocationColour(block.alloc);
  for (const piece of row.pieces) {
    const x = Math.max(from, piece.done) - piece.done + piece.x;
    const end = Math.min(to, piece.done + piece.width) - piece.done + piece.x;
    if (end <= x) continue;
    ctx.fillRect(x, piece.y, end - x > 3 ? end - x - 1 : end - x, ROW_HEIGHT);
    if (block.alloc === state.selected) {
      ctx.globalAlpha = 1;
      ctx.strokeStyle = cssColour("--ink");
      ctx.lineWidth = 2;
      ctx.strokeRect(x, piece.y - 1, Math.max(end - x, 3), ROW_HEIGHT + 2);
    }
  }
  ctx.globalAlpha = 1;
}

function hitPiece(row, x, y) {
  return row.pieces.find((piece) => y >= piece.y && y <= piece.y + ROW_HEIGHT &&
    x >= piece.x && x <= piece.x + piece.width);
}

// { row, alloc (-1: free space), gap: free bytes around the place }
function hitMap({ x, y }) {
  for (const row of state.rows) {
    const piece = hitPiece(row, x, y);
    if (!piece) continue;
    const address = row.address + (piece.done + x - piece.x) * row.scale;
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
