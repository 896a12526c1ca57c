import type { ConditionValue } from '../../runtime/resources.ts';
import type {
  ProbeAnswer,
  SlotBook,
  Acknowledged,
  Acknowledgements,
  SharingFault,
  Inventory,
  Owner,
  OwnerPlan,
  PlanSlot,
  SharingLines,
} from './model/index.ts';
import {
  type Injection,
  type Link,
  type LinkType,
  type SlotBinding,
  type DeviceTaint,
  bytesOf,
  parseSlotName,
  sharingDriver,
  sharingInName,
  sharingText,
  timeSlices,
  type Sharing,
  type TimeSlice,
} from '../../placement/index.ts';

/** ConfigMap in the namespace of the operator: what each slot was bound to, and the administrator's settings of GPUs. */
export const slotsConfigMap = 'agentfleet-slots';

/** Annotation of the ConfigMap by which a human lets a slot stand for another board: `<node>/gpu2=<uuid>`, by commas. */
const approveAnnotation = 'agentfleet.dev/approve-slot';

const noSharing: SharingLines = { rules: new Map(), faults: [], asked: new Set() };

export const emptyBook: SlotBook = {
  bindings: [],
  approved: new Map(),
  acknowledged: new Map(),
  links: [],
  probes: [],
  sharing: noSharing,
  problems: '',
};

interface NodeReport {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly data?: Readonly<Record<string, string>>;
}

const linkTypes: ReadonlySet<string> = new Set<LinkType>(['NV', 'PIX', 'PXB', 'PHB', 'NODE', 'SYS']);

const injections: ReadonlySet<string> = new Set<Injection>(['Works', 'Refused', 'Silent']);

/** The words of each line; empty lines and those that begin with # say nothing. */
function lines(text: string | undefined): readonly (readonly string[])[] {
  return (text ?? '')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([first = '']) => first !== '' && !first.startsWith('#'));
}

/** Reads the ConfigMap; lines that say nothing that is understood are passed over. Pure. */
export function readBook(map: NodeReport | undefined): SlotBook {
  if (map === undefined) return emptyBook;
  const bindings = lines(map.data?.['bindings']).flatMap(([slot = '', uuid, bus]): readonly SlotBinding[] =>
    uuid === undefined || !slot.includes('/gpu') ? [] : [{ slot, uuid, pciBusID: bus }],
  );
  const links = lines(map.data?.['links']).flatMap(([a = '', b = '', type = '']): readonly Link[] => {
    const plain = type.replace(/^NV\d+$/, 'NV');
    return linkTypes.has(plain) ? [{ a, b, type: plain as LinkType }] : [];
  });
  const approvals = (map.metadata.annotations?.[approveAnnotation] ?? '').split(',').map((entry) => entry.trim().split('='));
  const approved = new Map(approvals.flatMap(([slot, uuid]) => (slot === undefined || uuid === undefined ? [] : [[slot, uuid] as const])));
  const probes = lines(map.data?.['probes']).flatMap(([node = '', answer = '', boot = '', at = '']): readonly ProbeAnswer[] =>
    injections.has(answer) && !Number.isNaN(Date.parse(at)) ? [{ node, answer: answer as Injection, boot, at }] : [],
  );
  const sharing = readSharing(map.data?.['sharing'], map.metadata.annotations);
  const acknowledged = readAcknowledged(map.metadata.annotations);
  return { bindings, approved, acknowledged, links, probes, sharing, problems: map.data?.['problems'] ?? '' };
}

/** The bindings as the ConfigMap holds them: one line each. */
export function writeBindings(bindings: readonly SlotBinding[]): string {
  return bindings.map(({ slot, uuid, pciBusID }) => `${slot} ${uuid}${pciBusID === undefined ? '' : ` ${pciBusID}`}\n`).join('');
}

const mostProblems = 64;
const longestProblem = 500;

/** Returns the text of what is not used and why, as the ConfigMap holds it: one line each. */
function writeProblems(problems: readonly string[]): string {
  const lines = [...new Set(problems)].sort();
  const more = lines.length > mostProblems ? [`and ${lines.length - mostProblems} more`] : [];
  return [...lines.slice(0, mostProblems), ...more].map((line) => `${line.slice(0, longestProblem)}\n`).join('');
}

interface Noted {
  readonly bindings: readonly SlotBinding[];
  readonly problems: readonly string[];
}

/** Returns the parts of the ConfigMap that are to be written again; undefined: as it is. */
export function bookNews(book: SlotBook, noted: Noted): { readonly bindings: string | undefined; readonly problems: string | undefined } {
  const [bindings, problems] = [writeBindings(noted.bindings), writeProblems(noted.problems)];
  return {
    bindings: bindings === writeBindings(book.bindings) ? undefined : bindings,
    problems: problems === book.problems ? undefined : problems,
  };
}

/** The answers of nodes as the ConfigMap holds them: one line each. */
export function writeProbes(probes: readonly ProbeAnswer[]): string {
  return probes.map(({ node, answer, boot, at }) => `${node} ${answer} ${boot} ${at}\n`).join('');
}

/** Annotation of the ConfigMap agentfleet-slots by which a person declares a taint left over: `<slot>=<key>@<since>`, by commas. */
export const acknowledgeAnnotation = 'agentfleet.dev/acknowledge-taint';

/** Reads the annotation; entries that name no slot and taint are passed over. Pure. */
function readAcknowledged(annotations: Readonly<Record<string, string>> | undefined): Acknowledgements {
  const all = new Map<string, readonly Acknowledged[]>();
  for (const entry of (annotations?.[acknowledgeAnnotation] ?? '').split(',')) {
    const [, slot, key, since] = /^\s*([^=\s]+)=([^@\s]+)(?:@(\S+))?\s*$/.exec(entry) ?? [];
    if (slot === undefined || key === undefined) continue;
    all.set(slot, [...(all.get(slot) ?? []), { key, since }]);
  }
  return all;
}

/** Taints that were not acknowledged: one that was acknowledged once and was set again is one of them. */
export function openTaints(taints: readonly DeviceTaint[], seen: readonly Acknowledged[] = []): readonly DeviceTaint[] {
  return taints.filter(
    (taint) => !seen.some(({ key, since }) => key === taint.key && (taint.timeAdded === undefined || since === taint.timeAdded)),
  );
}

/** Describes what a human may do about a taint of a device that is well. */
export function acknowledgement(slot: string, { key, timeAdded }: DeviceTaint): string {
  const what = `${slot}=${key}${timeAdded === undefined ? '' : `@${timeAdded}`}`;
  return (
    `see to the device; if it is well and only the taint is left, acknowledge it ` +
    `(annotate ConfigMap agentfleet-slots of the operator: ${acknowledgeAnnotation}=${what})`
  );
}

/**
 * Annotation of the ConfigMap by which a human lets the tenants of a slot start again for its line: `<slot>=MPS 40`, by commas; `none`
 * where the line was taken away. It names the line, so that a later change restarts no tenant again.
 */
const applySharingAnnotation = 'agentfleet.dev/apply-sharing';

const cure =
  'write <node>/gpu0 MPS 40, <node>/gpu0 MPS 40 8Gi (percent of the processors, memory of each process), or <node>/gpu0 TimeSlicing Long';

const longestLine = 80;

/** Reads `data.sharing` of the ConfigMap: one slot a line; what is not understood is named with its line and the cure. Pure. */
export function readSharing(text: string | undefined, annotations: Readonly<Record<string, string>> = {}): SharingLines {
  const rules = new Map<string, Sharing>();
  const faults: SharingFault[] = [];
  for (const [index, line] of (text ?? '').split('\n').entries()) {
    const words = line.trim().split(/\s+/);
    const [slot = ''] = words;
    if (slot === '' || slot.startsWith('#')) continue;
    const sharing = rules.has(slot) ? 'the slot has a line already' : ruleOf(words);
    if (typeof sharing !== 'string') rules.set(slot, sharing);
    else faults.push({ slot, message: `data.sharing line ${index + 1} (${line.trim().slice(0, longestLine)}): ${sharing}` });
  }
  return { rules, faults, asked: askedOf(annotations[applySharingAnnotation] ?? '', rules) };
}

function askedOf(text: string, rules: ReadonlyMap<string, Sharing>): ReadonlySet<string> {
  const entries = text.split(',').map((entry) => entry.trim().split('='));
  return new Set(
    entries.flatMap(([slot = '', words = '']) => {
      const rule = words.trim() === 'none' ? undefined : ruleOf([slot, ...words.trim().split(/\s+/)]);
      return typeof rule !== 'string' && sharingText(rule) === sharingText(rules.get(slot)) ? [slot] : [];
    }),
  );
}

function ruleOf([slot = '', strategy = '', ...rest]: readonly string[]): Sharing | string {
  if (parseSlotName(slot) === undefined) return `${slot.slice(0, longestLine)} is no name of a slot: ${cure}`;
  if (strategy === 'MPS') return mpsOf(rest);
  if (strategy === 'TimeSlicing') return timeSlicingOf(rest);
  return `it names no way to share: ${cure}`;
}

function mpsOf([percent = '', limit, ...rest]: readonly string[]): Sharing | string {
  const percentage = /^\d{1,3}$/.test(percent) ? Number(percent) : 0;
  if (percentage < 1 || percentage > 100) return `MPS needs a percentage from 1 to 100: ${cure}`;
  const bytes = limit === undefined ? undefined : bytesOf(limit);
  if (limit !== undefined && (bytes === undefined || bytes < 2 ** 20)) return `${limit} is no amount of memory of 1Mi or more: ${cure}`;
  if (rest.length > 0) return `it says too much: ${cure}`;
  return { strategy: 'MPS', percentage, limitMiB: bytes === undefined ? undefined : Math.floor(bytes / 2 ** 20) };
}

function timeSlicingOf([conditionValue = '', ...rest]: readonly string[]): Sharing | string {
  const interval = timeSlices.find((known): known is TimeSlice => known === conditionValue);
  if (interval === undefined || rest.length > 0) return `TimeSlicing needs one of ${timeSlices.join(', ')}: ${cure}`;
  return { strategy: 'TimeSlicing', interval };
}

/** Returns the rules by which slots are to be shared, and the lines that have no effect with the reason. Pure. */
export function sharingsOf({ rules, faults, asked }: SharingLines, slots: readonly PlanSlot[], driver: string): SharingLines {
  const known = new Map(slots.map((slot) => [slot.name, slot]));
  const lacks = new Map([...rules].map(([slot, sharing]) => [slot, lackOf(sharing, known.get(slot), driver)]));
  const idle = [...lacks].flatMap(([slot, lack]): readonly SharingFault[] =>
    lack === undefined ? [] : [{ slot, message: `data.sharing of ${slot} has no effect: ${lack}` }],
  );
  return {
    rules: new Map([...rules].filter(([slot]) => lacks.get(slot) === undefined)),
    faults: [...faults, ...idle],
    asked: new Set([...asked].filter((slot) => lacks.get(slot) === undefined)),
  };
}

function lackOf(sharing: Sharing, slot: PlanSlot | undefined, driver: string): string | undefined {
  if (slot === undefined) return 'there is no slot of this name; data.bindings lists all';
  if (slot.fault?.reason === 'SlotPartitioned') return 'the board is divided into MIG slices; name one of them';
  // A board that is lost for a moment is shared as before when it is back.
  if (!slot.published && slot.fault === undefined) return 'no DRA driver publishes it, and only claims can say it';
  if (driver !== sharingDriver) return `the driver ${driver} does not know it, only ${sharingDriver} does`;
  if (slot.sharedByBytes) return 'its driver shares it by bytes, with a claim for each engine';
  if (slot.mig !== undefined && sharing.strategy === 'TimeSlicing') return 'a MIG slice has no time slices to set; MPS can be';
  return undefined;
}

/**
 * Message to an owner about how its slots are shared; undefined: nothing was asked for. A claim in force is never
 * changed, so that a change waits for the next one.
 */
export function sharingCondition(owner: Owner, { plan }: Pick<OwnerPlan, 'plan'>, { lines }: Inventory): ConditionValue | undefined {
  const slots = [...new Set(plan.assignments.map(({ slot }) => slot))].sort();
  const faults = lines.faults.filter(({ slot }) => slots.includes(slot)).map(({ message }) => message);
  if (faults.length > 0) return { status: 'False', reason: 'NoEffect', message: faults.join('; ') };
  const now = new Map(plan.assignments.flatMap(({ slot, claim }) => (claim === undefined ? [] : [[slot, sharingInName(claim)] as const])));
  return lateCondition(now, lines.rules) ?? narrowCondition(owner, plan, now) ?? appliedCondition(now);
}

type InForce = ReadonlyMap<string, Sharing | undefined>;

function lateCondition(now: InForce, wanted: SharingLines['rules']): ConditionValue | undefined {
  const late = [...now].filter(([slot, sharing]) => sharingText(sharing) !== sharingText(wanted.get(slot)));
  if (late.length === 0) return undefined;
  const differences = late.map(([slot, sharing]) => `${slot}: ${sharingText(wanted.get(slot))} (now ${sharingText(sharing)})`);
  const cures = late.map(([slot]) => `${slot}=${wanted.has(slot) ? sharingText(wanted.get(slot)) : 'none'}`);
  const message =
    `${differences.join('; ')} with the next claim, when nobody of this namespace is on the slot; to have its engines started anew for it ` +
    `annotate ConfigMap agentfleet-slots of the operator: ${applySharingAnnotation}=${cures.join(',')}`;
  return { status: 'False', reason: 'NextClaim', message };
}

/** Engines that were given more than one process may take. */
function narrowCondition({ requests }: Owner, { assignments }: OwnerPlan['plan'], now: InForce): ConditionValue | undefined {
  const narrow = assignments.flatMap(({ item, slot, bytes }) => {
    const sharing = now.get(slot);
    const limit = sharing?.strategy === 'MPS' ? sharing.limitMiB : undefined;
    const each = bytes / (requests.find((request) => request.item === item)?.replicas ?? 1);
    return limit === undefined || each <= limit * 2 ** 20 ? [] : [`${item} has ${each} bytes on ${slot} and may take ${limit}Mi`];
  });
  if (narrow.length === 0) return undefined;
  const message = `${narrow.join('; ')}: raise the limit in data.sharing, or give a smaller budget`;
  return { status: 'False', reason: 'LimitTooLow', message };
}

function appliedCondition(now: InForce): ConditionValue | undefined {
  const applied = [...now].flatMap(([slot, sharing]) => (sharing === undefined ? [] : [`${slot}: ${sharingText(sharing)}`]));
  return applied.length === 0 ? undefined : { status: 'True', reason: 'Applied', message: applied.join('; ') };
}
