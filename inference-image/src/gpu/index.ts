// Tasks of the image for the operator on nodes with a GPU device plugin: it holds a GPU, reports which, and checks
// whether a pod gets one by its environment. No engine, no port. May import protocol.
export { gpuTaskOf, runGpuTask, type GpuTask, gpuPlaces } from './held.ts';
