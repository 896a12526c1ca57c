// How much memory an engine needs on a GPU: from the headers of its files, before it starts, and from what it takes when
// it runs. Pure; imports nothing.
export { ModelFileError, readConfig, type Architecture } from './architecture.ts';
export { bytesInForce, compareMemory, driftTolerance, type MemoryFeedback } from './drift.ts';
export {
  activationBytes,
  driverReserveBytes,
  estimateEngine,
  gibibyte,
  graphBytes,
  kvBytesPerToken,
  processBytes,
  tokensWithin,
  usableBytes,
  type Adapters,
  type Draft,
  type EngineDemand,
  type MemoryEstimate,
} from './estimate.ts';
export { readGguf, type GgufHeader } from './gguf.ts';
export { headerLength, lengthBytes, maxHeaderBytes, tensorBytes } from './safetensors.ts';
