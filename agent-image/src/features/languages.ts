// agent-image, features: expert domain by extension. May import checks, egress, rails, store, base; protocol, kube, keeper's client.
import { extname } from 'node:path';

const domains: ReadonlyMap<string, string> = new Map(
  Object.entries({
    python: '.py .pyi',
    javascript: '.js .mjs .cjs .jsx',
    typescript: '.ts .mts .cts .tsx',
    go: '.go',
    rust: '.rs',
    java: '.java',
    kotlin: '.kt',
    ruby: '.rb',
    php: '.php',
    c: '.c .h',
    cpp: '.cc .cpp .hpp',
    csharp: '.cs',
    swift: '.swift',
    shell: '.sh',
  }).flatMap(([domain, extensions]) => extensions.split(' ').map((extension) => [extension, domain])),
);

/** Returns the domain of a source file; null when it is no program text. */
export function domainOf(path: string): string | null {
  return domains.get(extname(path).toLowerCase()) ?? null;
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
