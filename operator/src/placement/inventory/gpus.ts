// operator, placement/inventory: GPUs and MIG slices that a driver publishes in ResourceSlices. May import protocol and kube.
import {
  bytesOf,
  type Device,
  type Gpu,
  type InventoryProblem,
  type MigSlice,
  type ResourceSlice,
  type CounterSet,
} from './resourceSlice.ts';
import { profileName } from './naming.ts';

export interface PublishedGpus {
  readonly gpus: readonly Gpu[];
  readonly problems: readonly InventoryProblem[];
  /** Nodes of which a pool is not all there, with the message about it: it is unknown which GPUs they have. */
  readonly pending: ReadonlyMap<string, string>;
}

/**
 * The GPUs and MIG slices that a driver publishes, as far as all of them can be allocated at once. Of each pool only the newest
 * generation counts, and only when all its slices are there: half a pool would look like GPUs that are gone. Devices that cannot be
 * pinned (no uuid, or one that several have), that have no memory, or that overlap with others are named as problems.
 */
export function gpusOf(slices: readonly ResourceSlice[], driver: string): PublishedGpus {
  const gpus: Gpu[] = [];
  const problems: InventoryProblem[] = [];
  const pending = new Map<string, string>();
  for (const pool of poolsOf(slices.filter((slice) => slice.spec.driver === driver))) {
    const [first] = pool;
    const node = first?.spec.nodeName;
    if (first === undefined || node === undefined) continue;
    const { resourceSliceCount, name } = first.spec.pool;
    if (pool.length < resourceSliceCount) {
      const message = `pool ${name} has ${pool.length} of its ${resourceSliceCount} ResourceSlices: wait for the driver`;
      problems.push({ node, message });
      pending.set(node, message);
      continue;
    }
    const found = candidatesOf(pool, first, node);
    const { kept, left } = withoutOverlap(
      found.candidates,
      pool.flatMap((slice) => slice.spec.sharedCounters ?? []),
    );
    gpus.push(...kept);
    problems.push(...found.problems, ...left.map(({ gpu, message }) => ({ node, device: gpu.device, message })));
  }
  return { gpus, problems, pending };
}

function poolsOf(slices: readonly ResourceSlice[]): readonly (readonly ResourceSlice[])[] {
  const pools = new Map<string, ResourceSlice[]>();
  for (const slice of slices) pools.set(slice.spec.pool.name, [...(pools.get(slice.spec.pool.name) ?? []), slice]);
  return [...pools.values()].map((pool) => {
    const newest = Math.max(...pool.map((slice) => slice.spec.pool.generation));
    return pool.filter((slice) => slice.spec.pool.generation === newest);
  });
}

/** Devices that can be pinned, each by a uuid of its own. */
function candidatesOf(
  pool: readonly ResourceSlice[],
  first: ResourceSlice,
  node: string,
): { readonly candidates: readonly Candidate[]; readonly problems: readonly InventoryProblem[] } {
  const { driver } = first.spec;
  const devices = pool.flatMap((slice) => slice.spec.devices ?? []).filter((device) => isUsable(device, driver));
  const profiles = devices.filter((device) => isProfile(device, driver));
  const problems: InventoryProblem[] = [...profilesOf(profiles, node, driver)];
  const candidates: Candidate[] = [];
  const twins = new Map<string, number>();
  for (const device of devices.filter((one) => !profiles.includes(one))) {
    const gpu = gpuOf(first, node, device);
    if (typeof gpu === 'string') {
      problems.push({ node, device: device.name, message: gpu });
      continue;
    }
    candidates.push({ gpu, device });
    twins.set(gpu.uuid, (twins.get(gpu.uuid) ?? 0) + 1);
  }
  for (const [uuid, count] of twins)
    if (count > 1) problems.push({ node, message: `${count} devices publish the uuid ${uuid}: none of them can be pinned` });
  return { candidates: candidates.filter(({ gpu }) => twins.get(gpu.uuid) === 1), problems };
}

const isMig = (device: Device, driver: string): boolean => textOf(device, driver, 'type') === 'mig';

/** Not a board that virtual machines take whole. */
const isUsable = (device: Device, driver: string): boolean => ['gpu', 'mig', undefined].includes(textOf(device, driver, 'type'));

/** A slice that does not exist before it is claimed (NVIDIA's DynamicMIG). */
const isProfile = (device: Device, driver: string): boolean => isMig(device, driver) && textOf(device, driver, 'uuid') === undefined;

/** One word for all ways to divide a board: there are dozens. */
function profilesOf(devices: readonly Device[], node: string, driver: string): readonly InventoryProblem[] {
  const boards = new Map<string, number>();
  for (const device of devices) {
    const board = textOf(device, driver, 'parentUUID') ?? 'unknown';
    boards.set(board, (boards.get(board) ?? 0) + 1);
  }
  return [...boards].map(([board, count]) => ({
    node,
    message:
      `${count} MIG slices of board ${board} are made when they are claimed, overlap and have no uuid: none of them can be pinned; ` +
      'divide the board beforehand and turn off DynamicMIG, or use it whole',
  }));
}

function gpuOf({ spec }: ResourceSlice, node: string, device: Device): Gpu | string {
  const uuid = textOf(device, spec.driver, 'uuid');
  if (uuid === undefined) return `device ${device.name} publishes no uuid: it cannot be pinned`;
  const memory = device.capacity?.['memory'] ?? device.capacity?.[`${spec.driver}/memory`];
  const memoryBytes = bytesOf(memory?.value);
  if (memoryBytes === undefined || memoryBytes === 0) return `device ${device.name} publishes no capacity memory`;
  const mig = isMig(device, spec.driver) ? migOf(device, spec.driver) : undefined;
  if (typeof mig === 'string') return mig;
  const bus = textOf(device, spec.driver, 'resource.kubernetes.io/pciBusID');
  return {
    node,
    driver: spec.driver,
    device: device.name,
    uuid,
    pciBusID: mig === undefined ? bus : placeOf(bus, device, spec.driver),
    memoryBytes,
    taints: (device.taints ?? []).filter(({ effect }) => effect !== 'None'),
    sharedByBytes: device.allowMultipleAllocations === true && memory?.requestPolicy !== undefined,
    ...(mig === undefined ? {} : { mig }),
  };
}

function migOf(device: Device, driver: string): MigSlice | string {
  const parentUUID = textOf(device, driver, 'parentUUID');
  if (parentUUID === undefined) return `device ${device.name} is a MIG slice and publishes no parentUUID: nobody knows its board`;
  const profile = textOf(device, driver, 'profile') ?? '';
  if (profileName(profile) === undefined) return `device ${device.name} is a MIG slice of the unknown profile ${JSON.stringify(profile)}`;
  return { profile, parentUUID };
}

/** Its bus is that of the board; it differs from its siblings by where its memory begins. */
function placeOf(bus: string | undefined, device: Device, driver: string): string | undefined {
  const names = Object.keys(device.capacity ?? {}).map((name) => name.replace(`${driver}/`, ''));
  const slices = names.flatMap((name) => /^memorySlice(\d{1,3})$/.exec(name)?.[1] ?? []).map(Number);
  return bus === undefined || slices.length === 0 ? undefined : `${bus}@${Math.min(...slices)}`;
}

/** An attribute of text; names without a domain may be written with the driver's. */
function textOf(device: Device, driver: string, name: string): string | undefined {
  const attribute = device.attributes?.[name] ?? device.attributes?.[`${driver}/${name}`];
  return attribute?.string;
}

/** A device that could be a slot, with what it takes of counters that it has together with others. */
export interface Candidate {
  readonly gpu: Gpu;
  readonly device: Device;
}

export interface Apart {
  /** Devices that can all be allocated at once. */
  readonly kept: readonly Gpu[];
  /** The others, each with the reason. */
  readonly left: readonly { readonly gpu: Gpu; readonly message: string }[];
}

/** Slices exist; a board beside them is what they are parts of. Then the biggest, so that a whole board comes before its parts. */
function byClaim(a: Candidate, b: Candidate): number {
  const slice = ({ gpu }: Candidate): number => Number(gpu.mig === undefined);
  return slice(a) - slice(b) || b.gpu.memoryBytes - a.gpu.memoryBytes || (a.gpu.device < b.gpu.device ? -1 : 1);
}

/**
 * Devices of one pool that do not overlap. A driver may publish ways to divide a board that exclude one another, all of which
 * take from the same counters; to add up their memory would give it away several times. Deterministic.
 */
function withoutOverlap(candidates: readonly Candidate[], sets: readonly CounterSet[]): Apart {
  const rest = new Map(
    sets.flatMap(({ name, counters }) => Object.entries(counters).map(([key, { value }]) => [`${name} ${key}`, bytesOf(value)])),
  );
  const takers = new Map<string, string>();
  const left: { readonly gpu: Gpu; readonly message: string }[] = [];
  for (const candidate of [...candidates].sort(byClaim)) {
    const needs = needsOf(candidate);
    const lack = needs.find(([counter, value]) => value === undefined || value > (rest.get(counter) ?? -1));
    if (lack !== undefined) {
      left.push({ gpu: candidate.gpu, message: lackOf(candidate.gpu, lack, takers, rest.has(lack[0])) });
      continue;
    }
    for (const [counter, value = 0] of needs) {
      rest.set(counter, (rest.get(counter) ?? 0) - value);
      if (value > 0) takers.set(counter, candidate.gpu.device);
    }
  }
  const out = new Set(left.map(({ gpu }) => gpu));
  return { kept: candidates.map(({ gpu }) => gpu).filter((gpu) => !out.has(gpu)), left };
}

type Need = readonly [counter: string, value: number | undefined];

function needsOf({ device }: Candidate): readonly Need[] {
  return (device.consumesCounters ?? []).flatMap(({ counterSet, counters }) =>
    Object.entries(counters).map(([key, { value }]): Need => [`${counterSet} ${key}`, bytesOf(value)]),
  );
}

function lackOf({ device }: Gpu, [counter, value]: Need, takers: ReadonlyMap<string, string>, known: boolean): string {
  const [set = '', key = ''] = counter.split(' ');
  if (value === undefined || !known)
    return `device ${device} takes ${key} of the counters ${set}, of which nothing that is understood is published`;
  const taker = takers.get(counter);
  return taker === undefined
    ? `device ${device} takes more ${key} than the counters ${set} have`
    : `device ${device} overlaps with ${taker}, which is a slot (${key} of the counters ${set}): only one of them can be allocated`;
}
