import type { LogFlags } from '../evidence/log.ts';
import { storyLines, tellStory } from '../story/index.ts';
import { logOf } from './auditVerify.ts';
import type { CommandContext, LocalContext } from './command.ts';

/** Tells the story of a log, also of one that does not hold: then with a warning. */
export async function auditShow(
  context: LocalContext | CommandContext,
  log: string,
  flags: LogFlags & { readonly json: boolean },
): Promise<void> {
  const { trace, from, root, wrong } = await logOf(context, log, flags);
  const { read, ok, records, faults, faultCount, clockSteps, head } = trace;
  const items = tellStory(read);
  if (flags.json) {
    const check = { ok: ok && wrong === null, head, root: root ?? null, faultCount, faults, clockSteps, wrong };
    context.print(JSON.stringify({ format: 'agentfleet.dev/story/v1', from, records, check, items }, null, 2));
  } else for (const line of storyLines(items)) context.print(line);
  if (!ok || wrong !== null)
    context.warn(`this log does not hold, do not believe its story; see what is wrong with "fleet audit verify ${log}"`);
}
