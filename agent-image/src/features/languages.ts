// agent-image, features: expert domain by extension. May import checks, egress, rails, store, base; protocol, kube, keeper's client.
import { extname } from 'node:path';

/** Domain of an expert by the extension of a source file. */
const domains: Readonly<Record<string, string>> = {
  '.py': 'python',
  '.pyi': 'python',
  '.js': 'javascript',
  '.mjs': 'javascript',
  '.cjs': 'javascript',
  '.jsx': 'javascript',
  '.ts': 'typescript',
  '.mts': 'typescript',
  '.cts': 'typescript',
  '.tsx': 'typescript',
  '.go': 'go',
  '.rs': 'rust',
  '.java': 'java',
  '.kt': 'kotlin',
  '.rb': 'ruby',
  '.php': 'php',
  '.c': 'c',
  '.h': 'c',
  '.cc': 'cpp',
  '.cpp': 'cpp',
  '.hpp': 'cpp',
  '.cs': 'csharp',
  '.swift': 'swift',
  '.sh': 'shell',
};

/** Returns the domain of a source file; null when it is no program text. */
export function domainOf(path: string): string | null {
  return domains[extname(path).toLowerCase()] ?? null;
}

/** The domain with the greatest weight; `*` when there is none. Ties go to the name that sorts first. */
export function mainDomain(weights: Iterable<readonly [path: string, weight: number]>): string {
  const sums = new Map<string, number>();
  for (const [path, weight] of weights) {
    const domain = domainOf(path);
    if (domain !== null) sums.set(domain, (sums.get(domain) ?? 0) + weight);
  }
  const [best] = [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  return best?.[0] ?? '*';
}

const foreign = /(?:^|\/)(?:node_modules|site-packages|\.venv|venv|vendor|third_party|\.git)\//;

/** Reports whether a file is third-party: files installed by package managers must not be edited. */
export function isForeign(path: string): boolean {
  return foreign.test(path);
}
