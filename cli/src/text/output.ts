// cli, text: objects as JSON and YAML, and colours of a terminal. May import other packages, no other folder of cli.
import { styleText } from 'node:util';

export const formats = ['wide', 'json', 'yaml'] as const;
/** Format in which objects are printed; absent: as a table. */
export type Format = (typeof formats)[number];

/** An object as JSON or YAML: what a program reads, so nothing is made safe for a terminal but by the escapes of the format. */
export async function objectLines(value: unknown, format: 'json' | 'yaml'): Promise<readonly string[]> {
  if (format === 'json') return JSON.stringify(value, null, 2).split('\n');
  const { dump } = await import('js-yaml');
  // Through JSON, because what is undefined has no YAML.
  return dump(JSON.parse(JSON.stringify(value)), { lineWidth: -1, noRefs: true })
    .trimEnd()
    .split('\n');
}

/** Destination of colours: a terminal only, and not where the environment has NO_COLOR. */
export interface Paintable {
  readonly terminal: boolean;
  readonly env: NodeJS.ProcessEnv;
}

export function paint({ terminal, env }: Paintable, color: 'green' | 'yellow' | 'red' | 'bold', text: string): string {
  return terminal && !env['NO_COLOR'] ? styleText(color, text, { validateStream: false }) : text;
}
