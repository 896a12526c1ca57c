import { keeperErrors } from '@agentfleet/protocol/keeper';
import { processErrors } from '@agentfleet/protocol/log';

/** The catalogue of the keeper's refusals as a Markdown table. */
export function keeperErrorsPage(): string {
  const rows = Object.entries(keeperErrors).map(([code, { status, cure }]) => `| \`${code}\` | ${status} | ${cure} |`);
  return [
    '<!-- Made by `npm run generate` from protocol/src/keeper/errors.ts. -->',
    '# Errors of the keeper',
    '',
    'Every refusal is `{"error": {"code", "message", "cure"}}`; the message names what and where.',
    '',
    '| Code | HTTP | Cure |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

/** Returns the catalogue of errors in the logs of operator and workers, as a Markdown table. */
export function processErrorsPage(): string {
  const rows = Object.entries(processErrors).map(([code, { process, when, cure }]) => `| \`${code}\` | ${process} | ${when} | ${cure} |`);
  return [
    '<!-- Made by `npm run generate` from protocol/src/log/processErrors.ts. -->',
    '# Errors in the logs of operator and worker',
    '',
    'A line of level `error` has `code` and, but for those of the controller runtime, `cure`. What goes wrong with a task, pool or model stands',
    'in its conditions instead: [reasons.md](reasons.md).',
    '',
    '| Code | Process | When | Cure |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
