import type { ConditionValue } from '../../../operands/conditions.ts';
import { type WeightsItem, cut, draftOf, nameBeside, weightsOf } from '../../../operands/index.ts';
import type { Expert, ExpertPool, ExpertPoolStatus, Reason } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { weightsReportOf, type WeightsReport } from '@agentfleet/protocol/weights';
import type { Pod } from '../../../runtime/resources.ts';
import { podTrouble } from '../../../serving/index.ts';
import { weightsLabel } from './job.ts';
import type { FetchProgress } from './progress.ts';

/** One entry of `status.artifacts`. */
export type ArtifactState = NonNullable<ExpertPoolStatus['artifacts']>[number];

/** What is known about the weights of a pool. */
export interface WeightsView {
  readonly item: WeightsItem;
  readonly state: ArtifactState;
  /** Why they cannot be used until somebody changes something. */
  readonly fault: { readonly reason: Reason; readonly message: string } | undefined;
}

/** Whether what the status tells is about what is asked for now. */
function stillTrue(state: ArtifactState, { weights }: WeightsItem): boolean {
  const { digest, tokenizerHash } = weights;
  return (
    state.phase === 'Ready' &&
    state.uri === weights.uri &&
    (digest === undefined || state.digest === digest) &&
    (tokenizerHash === undefined || state.tokenizerHash === tokenizerHash)
  );
}

/** The last report of the pods of a job, the newest pod first. */
function reportOf(pods: readonly Pod[]): WeightsReport | undefined {
  const newest = [...pods].sort((a, b) => ((a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? 1 : -1));
  for (const { status } of newest) {
    const { state } = status?.containerStatuses?.find(({ name }) => name === 'weights') ?? {};
    const report = weightsReportOf(state?.terminated?.message);
    if (report !== undefined) return report;
  }
  return undefined;
}

const unfinished = ({ status }: Pod): boolean => status?.phase !== 'Succeeded' && status?.phase !== 'Failed';

function viewOf(
  item: WeightsItem,
  pods: readonly Pod[],
  reported: ArtifactState | undefined,
  progress: FetchProgress | undefined,
): WeightsView {
  const base = { name: item.name, uri: item.weights.uri };
  if (reported !== undefined) return { item, state: reported, fault: undefined };
  const report = reportOf(pods);
  if (report === undefined || ('fault' in report && report.fault === 'Unreachable' && pods.some(unfinished))) {
    const trouble = pods
      .filter(unfinished)
      .map(podTrouble)
      .find((words) => words !== undefined);
    const state = { ...base, phase: 'Resolving' as const, ...progress, ...(trouble === undefined ? {} : { message: cut(trouble, 512) }) };
    return { item, state, fault: undefined };
  }
  if ('fault' in report) {
    const { fault, message } = report;
    return { item, state: { ...base, phase: 'Failed', message: cut(message, 512) }, fault: { reason: `Weights${fault}`, message } };
  }
  const { digest, bytes, weightBytes, architecture, tokenizerHash } = report;
  const state = {
    ...base,
    phase: 'Ready' as const,
    digest,
    bytesTotal: bytes,
    bytesDone: bytes,
    weightBytes,
    ...(architecture === null ? {} : { architecture }),
    ...(tokenizerHash === null ? {} : { tokenizerHash }),
  };
  return { item, state, fault: undefined };
}

/** A draft guesses the tokens of its target: with another tokenizer its guesses mean something else. */
function matched(views: readonly WeightsView[]): readonly WeightsView[] {
  const tokenizers = new Map(views.map(({ item, state }) => [`${item.owner} ${item.name}`, state.tokenizerHash]));
  return views.map((view) => {
    const { item, state } = view;
    const target = tokenizers.get(`${item.owner} ${item.expert}`);
    const alike = target === undefined || state.tokenizerHash === undefined || state.tokenizerHash === target;
    if (item.name !== draftOf(item.expert) || alike) return view;
    const message = `the draft has the tokenizer ${state.tokenizerHash} and expert ${item.expert} has ${target}: use a draft of the same family`;
    return { ...view, fault: { reason: 'WeightsTokenizerMismatch', message } };
  });
}

export interface WeightsFacts {
  readonly pool: ExpertPool;
  /** Experts of other revisions. */
  readonly others: readonly Expert[];
  readonly pods: readonly Pod[];
  /** How far fetches are, by the names of their pods. */
  readonly progress: ReadonlyMap<string, FetchProgress>;
}

const keyOf = ({ name, hash }: WeightsItem): string => `${name} ${hash}`;

/** Weights of the spec, and those that other revisions of the pool were made from, each with its name in the status. */
function namedItems(pool: ExpertPool, others: readonly Expert[]): readonly (readonly [string, WeightsItem])[] {
  const own = weightsOf(pool);
  const known = new Set(own.map(keyOf));
  const more = new Map(
    weightsOf(pool, others)
      .filter((item) => !known.has(keyOf(item)))
      .map((item) => [keyOf(item), item]),
  );
  return [...own.map((item) => [item.name, item] as const), ...[...more.values()].map((item) => [nameBeside(item), item] as const)];
}

/** What is known about all weights that the spec asks for, in its order, then about those of `others`. Pure. */
export function weightsViews({ pool, others, pods, progress }: WeightsFacts): readonly WeightsView[] {
  const views = namedItems(pool, others).map(([name, item]) => {
    const own = pods.filter(
      ({ metadata }) => metadata.labels?.[weightsLabel] === item.hash && metadata.labels[labels.component] === 'weights',
    );
    const reported = pool.status?.artifacts?.find((state) => state.name.replace(/@.*$/, '') === item.name && stillTrue(state, item));
    const now = own.map(({ metadata }) => progress.get(metadata.name)).find((known) => known !== undefined);
    const view = viewOf(item, own, reported, now);
    return { ...view, state: { ...view.state, name } };
  });
  return matched(views);
}

/** What is known about one item. Pure. */
export function viewOfItem(views: readonly WeightsView[], item: WeightsItem): WeightsView | undefined {
  return views.find((view) => keyOf(view.item) === keyOf(item));
}

/** Whether all of these weights were found and read. Pure. */
export function weightsReady(views: readonly WeightsView[], items: readonly WeightsItem[]): boolean {
  return items.every((item) => {
    const view = viewOfItem(views, item);
    return view?.state.phase === 'Ready' && view.fault === undefined;
  });
}

/** `ArtifactsReady`; undefined for a pool without weights. Pure. */
export function artifactsCondition(views: readonly WeightsView[]): ConditionValue | undefined {
  if (views.length === 0) return undefined;
  const faults = views.flatMap(({ state, fault }) =>
    fault === undefined ? [] : [{ ...fault, message: `${state.name}: ${fault.message}` }],
  );
  const [first] = faults;
  if (first !== undefined)
    return { status: 'False', reason: first.reason, message: faults.map(({ message }) => message).join('; '), stalled: true };
  const open = views.filter(({ state }) => state.phase !== 'Ready').map(({ state }) => state.name);
  if (open.length === 0) return { status: 'True', reason: 'Found', message: 'all weights were found and read' };
  return { status: 'False', reason: 'Resolving', message: `weights of ${open.join(', ')} are being fetched or read` };
}
