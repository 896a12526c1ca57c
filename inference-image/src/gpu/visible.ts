import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A GPU as the driver shows it to a container. */
export interface VisibleGpu {
  readonly uuid: string | undefined;
  readonly pciBusID: string;
}

/** Where GPUs show. */
export interface GpuPlaces {
  /** One folder for each GPU, by its place on the bus. */
  readonly driver: string;
  readonly devices: string;
}

export const gpuPlaces: GpuPlaces = { driver: '/proc/driver/nvidia/gpus', devices: '/dev' };

const uuidPattern = /^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const busPattern = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/;

/** Whether it names a whole GPU. */
export function isGpuUuid(text: string): boolean {
  return uuidPattern.test(text);
}

async function listed(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch {
    return []; // no driver, or none for this container
  }
}

/** GPUs that the driver shows, in the order of their bus. Before the first use of a GPU its uuid may be unknown. */
export async function driverGpus({ driver }: GpuPlaces): Promise<readonly VisibleGpu[]> {
  const buses = (await listed(driver)).filter((name) => busPattern.test(name));
  return Promise.all(
    buses.map(async (pciBusID): Promise<VisibleGpu> => {
      const text = await readFile(join(driver, pciBusID, 'information'), 'utf8').catch(() => '');
      const uuid = /^GPU UUID:\s*(\S+)\s*$/m.exec(text)?.[1];
      return { uuid: uuid !== undefined && isGpuUuid(uuid) ? uuid : undefined, pciBusID };
    }),
  );
}

/** How many GPUs this container sees: by their device files, or by what the driver says. */
export async function visibleGpus(places: GpuPlaces): Promise<number> {
  const files = (await listed(places.devices)).filter((name) => /^nvidia\d+$/.test(name));
  return Math.max(files.length, (await driverGpus(places)).length);
}
