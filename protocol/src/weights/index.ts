// Headers of files of weights: sizes of the model, bytes of its tensors. Pure; imports nothing.
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { closed } from '../object.ts';

const size = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
const pattern = '^sha256:[0-9a-f]{64}$';
const digest = Type.String({ pattern });

/** Reasons that weights cannot be used. */
export const weightsFaults = ['NotFound', 'Refused', 'Unreachable', 'DigestMismatch', 'TokenizerMismatch', 'Unreadable', 'NoRoom'] as const;
export type WeightsFault = (typeof weightsFaults)[number];

/** The termination message of the job that fetches and reads weights, as JSON: at most 4,096 bytes. */
export const WeightsReport = Type.Union([
  closed({
    format: Type.Literal('agentfleet.dev/weights/v1'),
    digest: Type.String({ pattern, description: 'of all files with their names' }),
    bytes: size,
    files: size,
    weightBytes: Type.Integer({ minimum: 1, description: 'of the tensors, as they are stored' }),
    architecture: Type.Union([
      closed({
        layers: size,
        // GPUs that share a model have to divide its attention heads. Absent where an earlier version read the file.
        heads: Type.Optional(size),
        // Key and value heads; fewer than attention heads under grouped-query attention.
        kvHeads: size,
        // Elements per head.
        headSize: size,
        hiddenSize: size,
        feedForwardSize: size,
        vocabulary: size,
      }),
      Type.Null(),
    ]),
    tokenizerHash: Type.Union([digest, Type.Null()]),
  }),
  closed({
    format: Type.Literal('agentfleet.dev/weights/v1'),
    fault: Type.Enum([...weightsFaults]),
    message: Type.String({ minLength: 1, maxLength: 1000 }),
  }),
]);
export type WeightsReport = Static<typeof WeightsReport>;
export type FoundWeights = Exclude<WeightsReport, { readonly fault: WeightsFault }>;
/** Properties of a transformer that decide how much memory it needs besides its weights. */
export type Architecture = Readonly<NonNullable<FoundWeights['architecture']>>;

/** Reads a termination message; undefined for anything else that a container may have said. */
export function weightsReportOf(message: string | undefined): WeightsReport | undefined {
  try {
    const value: unknown = JSON.parse(message ?? '');
    return Value.Check(WeightsReport, value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A description of a model that is incomplete or cannot be read. */
export class ModelFileError extends Error {
  /** `field` is where, in the file's own names. */
  constructor(file: string, field: string, problem: string) {
    super(`${file}: ${field} ${problem}`);
    this.name = 'ModelFileError';
  }
}

/**
 * Reads the `config.json` of a model in the layout of the transformers library.
 * @throws {ModelFileError} a size is absent or no positive integer
 */
export function readConfig(config: Readonly<Record<string, unknown>>): Architecture {
  const inner = config['text_config'];
  const source = isRecord(inner) ? inner : config;
  const size = (field: string, absent?: number): number => sizeOf('config.json', field, source[field] ?? absent);
  const heads = size('num_attention_heads');
  const hiddenSize = size('hidden_size');
  return {
    layers: size('num_hidden_layers'),
    heads,
    kvHeads: size('num_key_value_heads', heads),
    headSize: size('head_dim', hiddenSize / heads),
    hiddenSize,
    feedForwardSize: size('intermediate_size'),
    vocabulary: size('vocab_size'),
  };
}

/** @throws {ModelFileError} the value is no positive integer */
export function sizeOf(file: string, field: string, value: unknown): number {
  const number = typeof value === 'bigint' ? Number(value) : value;
  if (number === undefined || number === null)
    throw new ModelFileError(file, field, 'is absent: add it, or give the memory budget in bytes');
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number <= 0)
    throw new ModelFileError(file, field, `is ${String(value)}, and has to be a positive integer`);
  return number;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The header of a safetensors file is at most this long; the library that defines the format refuses more. */
export const maxHeaderBytes = 100_000_000;

/** Bytes that hold the length of the header, little endian, at the start of the file. */
export const lengthBytes = 8;

/**
 * The length of the header in bytes, from the first {@link lengthBytes} of the file.
 * @throws {ModelFileError} the start is cut, or the length is none
 */
export function headerLength(start: Uint8Array): number {
  if (start.byteLength < lengthBytes) throw new ModelFileError('safetensors', 'header', 'is cut: the file has fewer than 8 bytes');
  const length = new DataView(start.buffer, start.byteOffset).getBigUint64(0, true);
  if (length === 0n || length > BigInt(maxHeaderBytes))
    throw new ModelFileError('safetensors', 'header', `would have ${length} bytes, and may have 1 to ${maxHeaderBytes}`);
  return Number(length);
}

/**
 * Sum of all tensors in bytes, from the header's JSON (without the 8 bytes before it). Quantised weights count as they
 * are stored, so that embeddings kept in 16 bit are counted as such.
 * @throws {ModelFileError} the header is no JSON of tensors, or offsets run backwards
 */
export function tensorBytes(header: Uint8Array): number {
  let total = 0;
  for (const [name, tensor] of Object.entries(parseHeader(header))) {
    if (name === '__metadata__') continue;
    const [start, end] = offsetsOf(name, tensor);
    total += end - start;
  }
  if (total === 0) throw new ModelFileError('safetensors', 'header', 'names no tensor');
  return total;
}

/**
 * Bytes of a safetensors file after its header: where the last of its tensors ends.
 * @throws {ModelFileError} the header is cut, or no header
 */
export function dataBytes(header: Uint8Array): number {
  const tensors = Object.entries(parseHeader(header)).filter(([name]) => name !== '__metadata__');
  return tensors.reduce((most, [name, tensor]) => Math.max(most, offsetsOf(name, tensor)[1]), 0);
}

function parseHeader(header: Uint8Array): Readonly<Record<string, unknown>> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(header));
  } catch (error) {
    throw new ModelFileError('safetensors', 'header', `is no JSON (${(error as Error).message}): is the file whole?`);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new ModelFileError('safetensors', 'header', 'is no object of tensors');
  return parsed as Readonly<Record<string, unknown>>;
}

function offsetsOf(name: string, tensor: unknown): readonly [number, number] {
  const offsets: unknown = (tensor as { readonly data_offsets?: unknown } | null)?.data_offsets;
  const [start, end] = Array.isArray(offsets) ? (offsets as readonly unknown[]) : [];
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || (start as number) < 0 || (end as number) < (start as number))
    throw new ModelFileError('safetensors', `${name}.data_offsets`, 'are no two ascending positions');
  return [start as number, end as number];
}
