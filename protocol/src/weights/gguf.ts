import { sizeOf, ModelFileError, type Architecture } from './architecture.ts';
import { ByteReader } from './byteReader.ts';

/** What the header of a GGUF file tells. */
export interface GgufHeader {
  readonly architecture: Architecture;
  /** Sum of all tensors in bytes. */
  readonly weightBytes: number;
}

/** Elements and bytes of one block, by the number of the type; types and sizes are those of ggml. */
const blocks: Readonly<Record<number, readonly [number, number]>> = {
  0: [1, 4],
  1: [1, 2],
  2: [32, 18],
  3: [32, 20],
  6: [32, 22],
  7: [32, 24],
  8: [32, 34],
  9: [32, 36],
  10: [256, 84],
  11: [256, 110],
  12: [256, 144],
  13: [256, 176],
  14: [256, 210],
  15: [256, 292],
  16: [256, 66],
  17: [256, 74],
  18: [256, 98],
  19: [256, 50],
  20: [32, 18],
  21: [256, 110],
  22: [256, 82],
  23: [256, 136],
  24: [1, 1],
  25: [1, 2],
  26: [1, 4],
  27: [1, 8],
  28: [1, 8],
  29: [256, 56],
  30: [1, 2],
};

const maxTensors = 100_000;
const maxPairs = 100_000;

/**
 * Reads the header of a GGUF file (versions 2 and 3). `bytes` has to hold the whole header: some megabytes, as the
 * vocabulary lies in it.
 * @throws {ModelFileError} the header is cut, of another version, or tells no architecture
 */
export function readGguf(bytes: Uint8Array): GgufHeader {
  const reader = new ByteReader(bytes, 'GGUF');
  if (reader.text(4) !== 'GGUF') throw new ModelFileError('GGUF', 'magic', 'is not there: this is no GGUF file');
  const version = reader.uint32();
  if (version !== 2 && version !== 3) throw new ModelFileError('GGUF', 'version', `is ${version}, and 2 and 3 can be read`);
  const tensors = reader.count('tensor_count', maxTensors);
  const pairs = reader.count('metadata_kv_count', maxPairs);
  const metadata = new Map<string, unknown>();
  for (let index = 0; index < pairs; index += 1) metadata.set(reader.string(), readValue(reader, reader.uint32()));
  let weightBytes = 0;
  for (let index = 0; index < tensors; index += 1) weightBytes += readTensor(reader);
  return { architecture: architectureOf(metadata), weightBytes };
}

function readTensor(reader: ByteReader): number {
  const name = reader.string();
  const dimensions = reader.uint32();
  if (dimensions > 4) throw new ModelFileError('GGUF', name, `has ${dimensions} dimensions, and may have 4`);
  let elements = 1;
  for (let index = 0; index < dimensions; index += 1) elements *= reader.count(name, Number.MAX_SAFE_INTEGER);
  const type = reader.uint32();
  reader.advance(8);
  const block = blocks[type];
  if (block === undefined) throw new ModelFileError('GGUF', name, `is of type ${type}, whose size is not known`);
  return (elements / block[0]) * block[1];
}

const arrayType = 9;
const stringType = 8;
/** Bytes of the values that have a fixed size, by the number of the type. */
const fixedSizes: Readonly<Record<number, number>> = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 };

/** Integers and strings are returned; of arrays only the length is, as nothing here asks for more. */
function readValue(reader: ByteReader, type: number): unknown {
  if (type === stringType) return reader.string();
  if (type === arrayType) return passArray(reader);
  if (type === 4 || type === 5) return reader.uint32();
  if (type === 10 || type === 11) return reader.uint64();
  reader.advance(fixedSize(type));
  return undefined;
}

function passArray(reader: ByteReader): number {
  const type = reader.uint32();
  const length = reader.count('array', 100_000_000);
  if (type !== stringType) reader.advance(fixedSize(type) * length);
  else for (let index = 0; index < length; index += 1) reader.advance(reader.count('array', 1 << 30));
  return length;
}

function fixedSize(type: number): number {
  const size = fixedSizes[type];
  if (size === undefined) throw new ModelFileError('GGUF', 'metadata', `has a value of type ${type}, which is not known`);
  return size;
}

function architectureOf(metadata: ReadonlyMap<string, unknown>): Architecture {
  const name = metadata.get('general.architecture');
  if (typeof name !== 'string') throw new ModelFileError('GGUF', 'general.architecture', 'is absent');
  const size = (field: string, absent?: number): number => sizeOf('GGUF', `${name}.${field}`, metadata.get(`${name}.${field}`) ?? absent);
  const heads = size('attention.head_count');
  const hiddenSize = size('embedding_length');
  return {
    layers: size('block_count'),
    heads,
    kvHeads: size('attention.head_count_kv', heads),
    headSize: size('attention.key_length', hiddenSize / heads),
    hiddenSize,
    feedForwardSize: size('feed_forward_length'),
    vocabulary: size('vocab_size', metadata.get('tokenizer.ggml.tokens') as number | undefined),
  };
}
