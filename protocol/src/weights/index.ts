// Headers of files of weights: sizes of the model, bytes of its tensors. Pure; imports nothing.
export {
  ModelFileError,
  readConfig,
  type Architecture,
  headerLength,
  lengthBytes,
  maxHeaderBytes,
  tensorBytes,
  dataBytes,
  WeightsReport,
  weightsFaults,
  weightsReportOf,
  type FoundWeights,
  type WeightsFault,
} from './report.ts';
