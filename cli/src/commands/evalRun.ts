import { existsSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  ablations,
  clusterJudge,
  ClusterPool,
  headOf,
  flakeBudget,
  flakeText,
  loadPack,
  profileVariants,
  ResultsFile,
  runPlan,
  solved,
  terminalReport,
  variantsOf,
  writeReports,
  type AttemptBudget,
  type EvalPool,
  type EvalRecord,
  type Flakes,
  type Half,
  type JudgePatch,
  type ModelOptions,
  type Pack,
  type Plan,
  type Variant,
} from '@agentfleet/eval';
import type * as Local from '@agentfleet/eval/local';
import { ResourceClient } from '@agentfleet/kube';
import { ablationAnnotations, ablationNames, ablationRefusal } from '@agentfleet/protocol/pool';
import { CliError } from '../base/failure.ts';
import { modelOf, type ModelFlags } from '../base/modelOptions.ts';
import { agentTasks, expertPools } from '../base/connection.ts';
import type { CommandContext, LocalContext } from './command.ts';

/** Options of `fleet eval run`. `matrix`: compare with every ablation. */
export interface EvalRunFlags extends ModelFlags {
  readonly pool: string;
  readonly split?: Half;
  readonly only?: string;
  readonly sample?: number;
  readonly seed: number;
  readonly rounds: number;
  readonly parallel: number;
  readonly ablate: readonly string[];
  readonly matrix?: boolean;
  readonly profiles: readonly string[];
  /** Place at which patches of a pool of a cluster are judged. */
  readonly judge: 'local' | 'pool';
  readonly out: string;
  readonly resume?: boolean;
  readonly wallSeconds: number;
  readonly toolCalls: number;
}

type World = Pick<LocalContext, 'env' | 'signal' | 'print' | 'warn'>;

/** Root of the sources, which local pools and packs that are called by name come from. */
export function checkoutOf(env: NodeJS.ProcessEnv): string {
  const root = env['AGENTFLEET_CHECKOUT'] ?? resolve('.');
  if (existsSync(join(root, 'test', 'packs'))) return root;
  throw new CliError(`${root} is no checkout of AgentFleet; run this in one, or name it by AGENTFLEET_CHECKOUT`);
}

/** Folder of a pack that is named, or given as a path. */
export function packFolder(name: string, env: NodeJS.ProcessEnv): string {
  return isAbsolute(name) || name.startsWith('.') ? resolve(name) : join(checkoutOf(env), 'test', 'packs', name);
}

/** The local pool is loaded from the checkout that it is made from; it is no part of the bundled program. */
export async function openLocal(env: NodeJS.ProcessEnv, budget: AttemptBudget, model?: ModelOptions): Promise<Local.LocalPool> {
  const checkout = checkoutOf(env);
  const module = pathToFileURL(join(checkout, 'eval', 'src', 'local', 'index.ts')).href;
  const { LocalPool } = (await import(module)) as typeof Local;
  return LocalPool.open({ checkout, budget, model });
}

const budgetOf = ({ wallSeconds, toolCalls }: EvalRunFlags): AttemptBudget => ({ wallSeconds, toolCalls });

function progress(print: World['print']): (record: EvalRecord, done: number, all: number) => void {
  return (record, done, all) => {
    const { task, variant, result, reason, message, hidden, usage, wallSeconds } = record;
    const mark = solved(record) ? 'solved  ' : 'unsolved';
    const words =
      result === 'Succeeded' ? `hidden check ${hidden}` : result === 'Error' ? (message.split('\n')[0] ?? '') : `${result} ${reason}`;
    const { steps, refusals } = record.conversation ?? {};
    const work = steps === undefined ? `${usage.candidates} tries` : `${steps} steps, ${refusals} refusals`;
    print(`${done}/${all} ${mark} ${task} ${variant}: ${words}, ${work}, ${wallSeconds.toFixed(1)} s`);
  };
}

/** Says once for each reason that a model does not answer: an attempt waits minutes for one before it fails. */
function waiting(warn: World['warn']): (task: string, why: string) => void {
  const said = new Set<string>();
  return (task, why) => {
    if (said.has(why)) return;
    said.add(why);
    warn(`${task} is ${why}; tried again for ten minutes, Ctrl-C ends the run, and --resume goes on`);
  };
}

/** @throws CliError when more attempts end otherwise with the same seed than is put up with */
export function refuseFlakes(flakes: Flakes): void {
  if (flakes.share.value > flakeBudget) throw new CliError(`the results cannot be relied on. ${flakeText(flakes)}`);
}

async function follow(world: World, plan: Plan, pool: EvalPool, flags: EvalRunFlags): Promise<void> {
  const head = await headOf(plan, pool);
  await using results = await ResultsFile.open(flags.out, head, flags.resume === true);
  const began = performance.now();
  const before = results.records.length;
  await runPlan(plan, { pool, results, head, signal: world.signal, onRecord: progress(world.print), onWait: waiting(world.warn) });
  const minutes = (performance.now() - began) / 60_000;
  const { groups, comparisons, flakes } = await writeReports(flags.out, head, results.records);
  for (const line of ['', ...terminalReport(groups, comparisons, flakes).split('\n'), '']) world.print(line);
  const errors = results.records.filter(({ result }) => result === 'Error').length;
  const made = results.records.length - before;
  world.print(`${made} attempts in ${minutes.toFixed(1)} min, ${(made / minutes).toFixed(1)} a minute; reports are in ${flags.out}`);
  if (errors > 0)
    throw new CliError(
      `pool or machine failed ${errors} of ${results.records.length} attempts, so that the tables say too little; ${flags.out}/report.html has the reasons`,
    );
  refuseFlakes(flakes);
}

async function planOf(names: readonly string[], variants: readonly Variant[], flags: EvalRunFlags, env: NodeJS.ProcessEnv): Promise<Plan> {
  const packs: Pack[] = [];
  for (const name of names) packs.push(await loadPack(packFolder(name, env)));
  const { seed, split, only, sample, rounds, parallel } = flags;
  const selection = {
    seed,
    ...(split === undefined ? {} : { half: split }),
    ...(only === undefined ? {} : { only }),
    ...(sample === undefined ? {} : { sample }),
  };
  return { packs, variants, rounds, parallel, selection };
}

/** Runs packs in processes of this machine, or in a pool of a cluster where there is a connection. */
export function evalRun(context: LocalContext | CommandContext, packs: readonly string[], given: EvalRunFlags): Promise<void> {
  const flags = given.matrix === true ? { ...given, ablate: ablations } : given;
  return 'transport' in context ? evalRunCluster(context, packs, flags) : evalRunLocal(context, packs, flags);
}

async function evalRunLocal(world: World, names: readonly string[], flags: EvalRunFlags): Promise<void> {
  if (flags.profiles.length > 0) throw new CliError('--profiles are those of a pool of a cluster; locally, name variants by --ablate');
  const plan = await planOf(names, variantsOf(flags.ablate), flags, world.env);
  const model = modelOf(flags);
  await using pool = await openLocal(world.env, budgetOf(flags), model);
  try {
    await follow(world, plan, pool, flags);
  } finally {
    const folder = join(flags.out, 'conversations');
    const kept = model?.endpoint !== undefined || model?.again === true ? await pool.keepConversations(folder) : 0;
    if (kept > 0) world.print(`${kept} conversations are in ${folder}`);
  }
}

/** The worker refuses what its pool does not allow; better to say so before the first task. */
async function allowed(
  context: CommandContext,
  pool: { readonly namespace: string; readonly name: string },
  variants: readonly Variant[],
): Promise<void> {
  const asked = variants.flatMap(({ ablations }) => ablations);
  if (asked.length === 0) return;
  const { metadata } = await new ResourceClient(context.transport, expertPools).get(pool, { signal: context.signal });
  const names = ablationNames(metadata.annotations?.[ablationAnnotations.allowed]);
  const refusal = ablationRefusal(asked, { ablations: [...names] });
  if (refusal !== null) throw new CliError(`ExpertPool ${pool.namespace}/${pool.name}: ${refusal}`);
}

/** The patches of a pool of a cluster are judged in sandboxes of this machine, or in fresh ones of the pool. */
async function evalRunCluster(context: CommandContext, names: readonly string[], flags: EvalRunFlags): Promise<void> {
  const [namespace, name, ...more] = flags.pool.split('/');
  if (namespace === undefined || name === undefined || name === '' || more.length > 0)
    throw new CliError(`--pool ${flags.pool} names no pool; write NAMESPACE/NAME, or local`);
  if (modelOf(flags) !== undefined)
    throw new CliError('--endpoint and --recordings are of a local pool; a pool of a cluster names its models in spec.experts');
  if (flags.ablate.length > 0 && flags.profiles.length > 0)
    throw new CliError('--ablate and --profiles do not go together; compare one of them at a time');
  const variants = flags.profiles.length > 0 ? profileVariants(flags.profiles) : variantsOf(flags.ablate);
  await allowed(context, { namespace, name }, variants);
  const plan = await planOf(names, variants, flags, context.env);
  const { transport, clock } = context;
  const place = { transport, clock, tasks: agentTasks, pool: { namespace, name }, namespace: context.namespace };
  await using local = flags.judge === 'local' ? await openLocal(context.env, budgetOf(flags)) : undefined;
  const judge: JudgePatch = local === undefined ? clusterJudge(place) : (task, patch, signal) => local.judgePatch(task, patch, signal);
  await using pool = new ClusterPool({ ...place, budget: budgetOf(flags), judge });
  await follow(context, plan, pool, flags);
}
