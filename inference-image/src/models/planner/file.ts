// inference-image, models/planner: file format of the planner's weights. May import protocol.
import { createHash } from 'node:crypto';
import { shapes, sizes, tensorNames, type TensorName, type Weights } from './network.ts';

const plannerFormat = 'agentfleet.dev/planner/v1';
const magic = Buffer.from('AFPLAN1\n');

/** Quality of the planner on problems that its training never saw. AUC: area under the ROC curve. */
export interface HeldOut {
  readonly steps: number;
  readonly riskAuc: number;
  /** With the planned step as input. */
  readonly riskAucOfPlannedStep: number;
  readonly randomWeightsAuc: number;
  readonly constantAuc: number;
  readonly bestSingleFeature: string;
  readonly bestSingleFeatureAuc: number;
  readonly deliberateAuc: number;
}

export interface PlannerHeader {
  readonly format: typeof plannerFormat;
  readonly sizes: typeof sizes;
  readonly script: string;
  readonly seed: number;
  /** Digest of the generated data; null: the weights are random. */
  readonly data: string | null;
  readonly heldOut: HeldOut | null;
  /** P(standstill) above which it demands deliberation. */
  readonly deliberateAbove: number;
  /** SHA-256 of the bytes after the header. */
  readonly payload: string;
}

const cure = 'make it again with `node hack/bootstrap.mjs train/main.ts`, or take the one of the release';

/**
 * Header as JSON, then each tensor: its scales (one float32 per row), then its numbers as int8. A vector is one row of float32
 * without scales.
 */
export function writePlannerFile(header: Omit<PlannerHeader, 'payload' | 'format' | 'sizes'>, weights: Weights): Buffer {
  const payload = Buffer.concat(tensorNames.map((name) => packed(name, weights[name])));
  const whole: PlannerHeader = { format: plannerFormat, sizes, ...header, payload: sha256(payload) };
  const text = Buffer.from(JSON.stringify(whole));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return Buffer.concat([magic, length, text, payload]);
}

const isVector = (name: TensorName): boolean => shapes[name][0] === 1;

function packed(name: TensorName, values: Float32Array): Buffer {
  if (isVector(name)) return floats(values);
  const [rows, columns] = shapes[name];
  const scales = new Float32Array(rows);
  const numbers = new Int8Array(values.length);
  for (let row = 0; row < rows; row += 1) {
    const part = values.subarray(row * columns, (row + 1) * columns);
    scales[row] = Math.max(1e-12, part.reduce((top, value) => Math.max(top, Math.abs(value)), 0) / 127);
    const scale = scales[row] as number;
    for (const [i, value] of part.entries()) numbers[row * columns + i] = Math.round(value / scale);
  }
  return Buffer.concat([floats(scales), Buffer.from(numbers.buffer)]);
}

function floats(values: Float32Array): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [i, value] of values.entries()) bytes.writeFloatLE(value, i * 4);
  return bytes;
}

/** @throws Error when the bytes are no weights for this code */
export function readPlannerFile(bytes: Buffer): { readonly header: PlannerHeader; readonly weights: Weights; readonly digest: string } {
  const start = magic.length + 4;
  if (bytes.length < start || !bytes.subarray(0, magic.length).equals(magic)) throw misfit('it does not begin as such a file does');
  const end = start + bytes.readUInt32LE(magic.length);
  const header = headerOf(bytes.subarray(start, end));
  const payload = bytes.subarray(end);
  const format: string = header.format;
  if (format !== plannerFormat) throw misfit(`format is ${format}, not ${plannerFormat}`);
  if (JSON.stringify(header.sizes) !== JSON.stringify(sizes)) throw misfit('its network has other sizes than this code');
  if (sha256(payload) !== header.payload) throw misfit('its numbers are not those that the header names');
  return { header, weights: unpacked(payload), digest: `sha256:${sha256(bytes)}` };
}

function headerOf(text: Buffer): PlannerHeader {
  try {
    return JSON.parse(text.toString('utf8')) as PlannerHeader;
  } catch (error) {
    throw misfit('its header is not JSON', error);
  }
}

function unpacked(payload: Buffer): Weights {
  let at = 0;
  const take = (length: number): Buffer => {
    at += length;
    if (at > payload.length) throw misfit('it is too short');
    return payload.subarray(at - length, at);
  };
  const float = (count: number): Float32Array => {
    const part = take(count * 4);
    return Float32Array.from({ length: count }, (_, i) => part.readFloatLE(i * 4));
  };
  const tensor = (name: TensorName): Float32Array => {
    const [rows, columns] = shapes[name];
    if (isVector(name)) return float(columns);
    const scales = float(rows);
    const numbers = take(rows * columns);
    const signed = new Int8Array(numbers.buffer, numbers.byteOffset, numbers.length);
    const values = new Float32Array(rows * columns);
    for (let i = 0; i < values.length; i += 1) values[i] = (signed[i] as number) * (scales[Math.floor(i / columns)] as number);
    return values;
  };
  const weights = Object.fromEntries(tensorNames.map((name) => [name, tensor(name)])) as Record<TensorName, Float32Array>;
  if (at !== payload.length) throw misfit('it is too long');
  return weights;
}

function misfit(what: string, cause?: unknown): Error {
  return new Error(`weights of the planner: ${what}; ${cure}`, { cause });
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
