import { ModelFileError } from './architecture.ts';

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
