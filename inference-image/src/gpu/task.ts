import { writeFile } from 'node:fs/promises';
import { heldGpu } from './held.ts';
import { driverGpus, visibleGpus, type GpuPlaces } from './visible.ts';

/** What a container does with the GPU that it has instead of serving: the word after the program's name. */
export const gpuTasks = ['tell-gpu', 'hold-gpu', 'probe-gpu'] as const;
export type GpuTask = (typeof gpuTasks)[number];

export interface GpuTaskOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly places: GpuPlaces;
  /** Where the kubelet reads the last words of a container. */
  readonly lastWords: string;
  /** Resolves when the container has to end. */
  readonly ended: Promise<unknown>;
}

/** Of the command line; undefined: the process serves. */
export function gpuTaskOf(args: readonly string[]): GpuTask | undefined {
  return gpuTasks.find((task) => task === args[0]);
}

/**
 * `tell-gpu` says which GPU the pod has by the device plugin and ends; `hold-gpu` keeps it and does nothing else;
 * `probe-gpu` says how many GPUs a pod sees that asked for them by its environment. The answers are the last words of the
 * container, which the API server shows: nobody has to reach it. Resolves with the exit code.
 */
export async function runGpuTask(task: GpuTask, { env, places, lastWords, ended }: GpuTaskOptions): Promise<number> {
  if (task === 'hold-gpu') {
    await ended;
    return 0;
  }
  const tell = (answer: object): Promise<void> => writeFile(lastWords, JSON.stringify(answer));
  if (task === 'probe-gpu') {
    await tell({ gpus: await visibleGpus(places) });
    return 0;
  }
  try {
    await tell(heldGpu(env['NVIDIA_VISIBLE_DEVICES'], await driverGpus(places)));
    return 0;
  } catch (error) {
    await tell({ error: error instanceof Error ? error.message : String(error) });
    return 1;
  }
}
