// What the image does for the operator on nodes whose GPUs a device plugin hands out: it holds one, says which, and looks
// whether a pod gets one by its environment. No engine, no port.
// May import protocol.
export { gpuTaskOf, runGpuTask, type GpuTask, gpuPlaces } from './held.ts';
