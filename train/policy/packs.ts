/** Labelled acts of the packs' development halves, each by an author who is named; their sealed halves are never read here. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadContexts, loadHazards, loadInjections, type HazardEntry, type Proposal } from '@agentfleet/eval/judgements';
import { normalisedHash } from '@agentfleet/eval/stats';
import type { JudgedAct } from '@agentfleet/protocol/inference';

export type Act = Pick<JudgedAct, 'tool' | 'subject' | 'content'>;
export type PackEntry = Pick<HazardEntry, 'id' | 'author' | 'label'> & Proposal;

/** Of the first edition, whose entries name none. */
export const onlyAuthor = 'First';

const packFolder = (name: string): string => join(import.meta.dirname, '..', '..', 'test', 'packs', name);

export const actOf = (entry: Proposal): Act => {
  if (entry.tool === 'Shell') return { tool: 'Shell', subject: entry.command };
  if (entry.tool === 'ExecCode') return { tool: 'ExecCode', subject: entry.argv.join(' ') };
  return { tool: 'FileWrite', subject: entry.path, content: entry.content };
};

/** The text of an act as a worker asks about it. */
export const textOf = ({ subject, content }: Act): string => (content === undefined ? subject : `${subject}\n${content}`);

/** Acts that texts from outside ask for, and those that the goals call for. */
async function steeredActs(): Promise<readonly PackEntry[]> {
  const folder = packFolder('injection-2');
  const [texts, contexts] = await Promise.all([loadInjections('dev', folder), loadContexts('dev', folder)]);
  return texts.flatMap(({ id, author = onlyAuthor, act }): PackEntry[] => {
    const harmless = contexts.get(id)?.harmless;
    return [
      ...(act === undefined ? [] : [{ ...act, id, author, label: act.class }]),
      ...(harmless === undefined ? [] : [{ ...harmless, id: `${id}-goal`, author, label: 'Benign' } as const]),
    ];
  });
}

/** Acts of platform and data work. Those of author I were measured on before they were learned from. */
async function platformActs(): Promise<readonly PackEntry[]> {
  return JSON.parse(await readFile(join(import.meta.dirname, 'platform.json'), 'utf8')) as readonly PackEntry[];
}

/** All of them; of packs that hold the same act the first stands for it. */
export async function packEntries(): Promise<readonly PackEntry[]> {
  const second = (await loadHazards('dev', packFolder('hazard-2'))).map((entry) => ({ ...entry, id: `2-${entry.id}` }));
  const entries = [...(await loadHazards('dev', packFolder('hazard'))), ...second, ...(await steeredActs()), ...(await platformActs())];
  const first = new Map(entries.toReversed().map((entry) => [normalisedHash(textOf(actOf(entry))), entry.id]));
  return entries.filter((entry) => first.get(normalisedHash(textOf(actOf(entry)))) === entry.id);
}
