import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { runbookTexts } from './texts.ts';

const folder = join(import.meta.dirname, '../../../charts/agentfleet/files/monitoring/rules');

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly description: string };
}

/** Alerts of the chart, as its files have them. */
function shippedAlerts(): readonly Alert[] {
  const files = readdirSync(folder).sort();
  const groups = files.flatMap(
    (name) => load(readFileSync(join(folder, name), 'utf8')) as { readonly rules: readonly (Partial<Alert> & { expr: string })[] }[],
  );
  return groups.flatMap(({ rules }) => rules.filter((rule): rule is Alert => rule.alert !== undefined));
}

/** Pages of alerts, and the list of them. @throws Error that names an alert without a page, or a page without an alert */
export function runbooks(): readonly (readonly [string, string])[] {
  const alerts = shippedAlerts();
  const known = new Set(alerts.map(({ alert }) => alert));
  const lost = Object.keys(runbookTexts).filter((name) => !known.has(name));
  if (lost.length > 0) throw new Error(`hack/generate/runbooks/texts.ts has pages of no alert: ${lost.join(', ')}`);
  const sorted = alerts.toSorted((a, b) => a.alert.localeCompare(b.alert));
  const list = sorted.map(({ alert, labels }) => `- [${alert}](${alert}.md), ${labels.severity}`);
  const index = [
    '# Runbooks',
    '',
    'A page for each alert of the chart, as its annotation `runbook_url` names it. Made by `npm run generate`.',
    '',
    ...list,
    '',
  ];
  return [
    ['docs/runbooks/README.md', index.join('\n')],
    ...sorted.map((alert) => [`docs/runbooks/${alert.alert}.md`, page(alert)] as const),
  ];
}

function page({ alert, expr, for: wait = '0m', labels, annotations }: Alert): string {
  const text = runbookTexts[alert];
  if (text === undefined) throw new Error(`the alert ${alert} has no page: write it in hack/generate/runbooks/texts.ts`);
  const written = [
    ['Meaning', annotations.description.trim()],
    ['Impact', text.impact],
    ['Diagnosis', ['```sh', ...text.look, '```'].join('\n')],
    ['Cure', text.cure],
    ['Rule', `Severity ${labels.severity}, after ${wait}:\n\n\`\`\`promql\n${expr.trim()}\n\`\`\``],
  ];
  return [`# ${alert}`, ...written.map(([title = '', body = '']) => `## ${title}\n\n${wrapped(body)}`)].join('\n\n') + '\n';
}

/** Lines of at most 150 characters; code stays as it is. */
function wrapped(text: string): string {
  if (text.includes('```')) return text;
  const lines: string[] = [''];
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + word.length >= 150) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.join('\n');
}
