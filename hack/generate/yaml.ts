// hack, generate: YAML of generated manifests. May import any package.
import { dump } from 'js-yaml';

/** First line of generated YAML. */
export const banner = '# Made by `npm run generate` from protocol/src/api.\n';

/** A manifest as YAML, the same each time. */
export function yaml(value: unknown): string {
  return dump(value, { lineWidth: 140, noRefs: true });
}
