import { keeperErrors } from '@agentfleet/protocol/keeper';

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
