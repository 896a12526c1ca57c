import type { Acknowledged, Acknowledgements } from './model/index.ts';
import type { DeviceTaint } from '../../placement/index.ts';

/** Annotation of the ConfigMap agentfleet-slots by which a human says that a taint is left over: `<slot>=<key>@<since>`, by commas. */
export const acknowledgeAnnotation = 'agentfleet.dev/acknowledge-taint';

/** Reads the annotation; entries that name no slot and taint are passed over. Pure. */
export function readAcknowledged(annotations: Readonly<Record<string, string>> | undefined): Acknowledgements {
  const all = new Map<string, readonly Acknowledged[]>();
  for (const entry of (annotations?.[acknowledgeAnnotation] ?? '').split(',')) {
    const [, slot, key, since] = /^\s*([^=\s]+)=([^@\s]+)(?:@(\S+))?\s*$/.exec(entry) ?? [];
    if (slot === undefined || key === undefined) continue;
    all.set(slot, [...(all.get(slot) ?? []), { key, since }]);
  }
  return all;
}

/** Taints that nobody has seen: who was acknowledged once and was set again is one of them. */
export function openTaints(taints: readonly DeviceTaint[], seen: readonly Acknowledged[] = []): readonly DeviceTaint[] {
  return taints.filter(
    (taint) => !seen.some(({ key, since }) => key === taint.key && (taint.timeAdded === undefined || since === taint.timeAdded)),
  );
}

/** What a human may do about a taint of a device that is well. */
export function acknowledgement(slot: string, { key, timeAdded }: DeviceTaint): string {
  const what = `${slot}=${key}${timeAdded === undefined ? '' : `@${timeAdded}`}`;
  return (
    `see to the device; if it is well and only the taint is left, acknowledge it ` +
    `(annotate ConfigMap agentfleet-slots of the operator: ${acknowledgeAnnotation}=${what})`
  );
}
