import type { ProbeAnswer, SlotBook } from './model/index.ts';
import type { Injection, Link, LinkType, SlotBinding } from '../../placement/index.ts';
import { readAcknowledged } from './acknowledged.ts';
import { noSharing, readSharing } from './sharing.ts';

/** ConfigMap in the namespace of the operator: what each slot was bound to, and what the administrator says about GPUs. */
export const slotsConfigMap = 'agentfleet-slots';

/** Annotation of the ConfigMap by which a human lets a slot stand for another board: `<node>/gpu2=<uuid>`, by commas. */
export const approveAnnotation = 'agentfleet.dev/approve-slot';

export const emptyBook: SlotBook = {
  bindings: [],
  approved: new Map(),
  acknowledged: new Map(),
  links: [],
  probes: [],
  sharing: noSharing,
  problems: '',
};

interface Reported {
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
export function readBook(map: Reported | undefined): SlotBook {
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

/** What is not used and why, as the ConfigMap holds it: one line each. */
export function writeProblems(problems: readonly string[]): string {
  const lines = [...new Set(problems)].sort();
  const more = lines.length > mostProblems ? [`and ${lines.length - mostProblems} more`] : [];
  return [...lines.slice(0, mostProblems), ...more].map((line) => `${line.slice(0, longestProblem)}\n`).join('');
}

interface Noted {
  readonly bindings: readonly SlotBinding[];
  readonly problems: readonly string[];
}

/** What of the ConfigMap is to be written again; undefined: as it is. */
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
