/** What is used of `@energetic-ai/core` (TensorFlow.js for servers), whose own types need packages that it does not bring. */
export interface Runtime {
  setWasmPaths(folder: string): void;
  setBackend(name: string): Promise<boolean>;
  ready(): Promise<void>;
  loadGraphModel(url: string): Promise<GraphModel>;
  tensor1d(values: readonly number[], type: 'int32'): Tensor;
  tensor2d(values: readonly (readonly number[])[], shape: readonly [number, number], type: 'int32'): Tensor;
}

export interface Tensor {
  array(): Promise<unknown>;
  dispose(): void;
}

export interface GraphModel {
  executeAsync(inputs: Readonly<Record<string, Tensor>>): Promise<Tensor>;
  dispose(): void;
}

/** The runtime on WebAssembly; its binaries lie in the folder. One per process: the library keeps its backend. */
export async function loadRuntime(folder: string): Promise<Runtime> {
  const imported = (await import('@energetic-ai/core')) as unknown as Runtime & { readonly default?: Runtime };
  const runtime = imported.default ?? imported;
  setPaths(runtime, folder);
  if (!(await runtime.setBackend('wasm'))) throw new Error(`the WebAssembly backend of ${folder} does not start; is it for this CPU?`);
  await runtime.ready();
  return runtime;
}

/** The library refuses new paths once its backend runs; it then has what an engine before this one gave it. */
function setPaths(runtime: Runtime, folder: string): void {
  try {
    runtime.setWasmPaths(`${folder}/`);
  } catch (error) {
    if (!(error instanceof Error && error.message.includes('already initialized'))) throw error;
  }
}
