/** How long a process has a GPU before the next one: NVIDIA's own words. */
export const timeSlices = ['Default', 'Short', 'Medium', 'Long'] as const;
export type TimeSlice = (typeof timeSlices)[number];

/** How processes of one slot share it, where its driver learns it from its claim. */
export type Sharing =
  | {
      readonly strategy: 'MPS';
      /** Share of the processors that each process has at most, 1 to 100. */
      readonly percentage: number;
      /** Memory that each process has at most, MiB. */
      readonly limitMiB: number | undefined;
    }
  | { readonly strategy: 'TimeSlicing'; readonly interval: TimeSlice };

/** The driver that knows these words. */
export const sharingDriver = 'gpu.nvidia.com';
const configVersion = 'resource.nvidia.com/v1beta1';

/** What a person reads and writes: `MPS 40 8192Mi`, `TimeSlicing Long`. */
export function sharingText(sharing: Sharing | undefined): string {
  if (sharing === undefined) return 'as the driver does by default';
  if (sharing.strategy === 'TimeSlicing') return `TimeSlicing ${sharing.interval}`;
  return `MPS ${sharing.percentage}${sharing.limitMiB === undefined ? '' : ` ${sharing.limitMiB}Mi`}`;
}

/**
 * The end of a claim's name that says how its slot is shared. The spec of a claim is never changed, so that its name tells
 * what is in force for as long as anybody names it.
 */
export function sharingSuffix(sharing: Sharing | undefined): string {
  if (sharing === undefined) return '';
  if (sharing.strategy === 'TimeSlicing') return `-timeslicing-${sharing.interval.toLowerCase()}`;
  return `-mps-${sharing.percentage}${sharing.limitMiB === undefined ? '' : `-${sharing.limitMiB}mi`}`;
}

/** What the name of a claim says; undefined: nothing. */
export function sharingInName(claim: string): Sharing | undefined {
  const [, percentage, limit] = /-mps-(\d{1,3})(?:-(\d{1,9})mi)?$/.exec(claim) ?? [];
  if (percentage !== undefined)
    return { strategy: 'MPS', percentage: Number(percentage), limitMiB: limit === undefined ? undefined : Number(limit) };
  const word = /-timeslicing-([a-z]+)$/.exec(claim)?.[1];
  const interval = timeSlices.find((known) => known.toLowerCase() === word);
  return interval === undefined ? undefined : { strategy: 'TimeSlicing', interval };
}

/** `spec.devices.config` of a claim of the slot. */
export function sharingConfig(sharing: Sharing | undefined, ofSlice: boolean, request: string): object {
  if (sharing === undefined) return {};
  const parameters = { apiVersion: configVersion, kind: ofSlice ? 'MigDeviceConfig' : 'GpuConfig', sharing: parametersOf(sharing) };
  return { config: [{ requests: [request], opaque: { driver: sharingDriver, parameters } }] };
}

function parametersOf(sharing: Sharing): object {
  if (sharing.strategy === 'TimeSlicing') return { strategy: 'TimeSlicing', timeSlicingConfig: { interval: sharing.interval } };
  const { percentage, limitMiB } = sharing;
  return {
    strategy: 'MPS',
    mpsConfig: {
      defaultActiveThreadPercentage: percentage,
      ...(limitMiB === undefined ? {} : { defaultPinnedDeviceMemoryLimit: `${limitMiB}Mi` }),
    },
  };
}
