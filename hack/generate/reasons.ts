import { conditionTypes, reasonGroups } from '@agentfleet/protocol/api';

/** The types of conditions and the reasons that programs match on, as sorted Markdown tables. */
export function reasonsPage(): string {
  return [
    '<!-- Made by `npm run generate` from protocol/src/api/reasons/. -->',
    '# Conditions and reasons',
    '',
    'Conditions of the objects, then the reasons of conditions, of events, of attempts (`status.attempts[].reason`,',
    '`status.run.outcome.reason`) and of rollouts. The message beside a reason says which object it is about and what helps there.',
    'Each reason is listed once, also where it is given about several things.',
    '',
    'Reasons that begin with `Keeper` and are not listed here are refusals of the keeper: `KeeperStoreFull` is `AF_STORE_FULL` of the',
    '[errors of the keeper](keeper-errors.md). Reasons that Kubernetes gives for a pod that has no node are passed on as they are.',
    '',
    ...Object.entries(conditionTypes).flatMap(([kind, types]) => [
      `## Conditions of ${kind}`,
      '',
      '| Type | Meaning |',
      '|---|---|',
      ...sorted(types).map(([type, meaning]) => `| \`${type}\` | ${meaning} |`),
      '',
    ]),
    ...Object.entries(reasonGroups).flatMap(([title, entries]) => [
      `## Reasons: ${title}`,
      '',
      '| Reason | Meaning | Cure |',
      '|---|---|---|',
      ...sorted<readonly [string, string?]>(entries).map(([reason, [meaning, cure = '']]) => `| \`${reason}\` | ${meaning} | ${cure} |`),
      '',
    ]),
  ].join('\n');
}

/** Sorts by name. */
function sorted<T>(entries: Readonly<Record<string, T>>): readonly (readonly [string, T])[] {
  return Object.entries(entries).sort(([a], [b]) => a.localeCompare(b, 'en'));
}
