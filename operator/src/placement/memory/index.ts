// Memory that an engine needs on a GPU: from the headers of its files, before it starts, and from what it takes when
// it runs. Pure; the readers of headers are the protocol's.
// Part of `placement`: may import protocol.
export {
  compareMemory,
  driftTolerance,
  type MemoryFeedback,
  activationBytes,
  batchedTokens,
  driverReserveBytes,
  estimateEngine,
  gibibyte,
  graphBytes,
  kvBytesPerToken,
  processBytes,
  usableBytes,
  type Adapters,
  type Draft,
  type EngineDemand,
  type MemoryEstimate,
} from './estimate.ts';
export { headerLength, ModelFileError, readConfig, tensorBytes, type Architecture } from '@agentfleet/protocol/weights';
