// Configuration of VitePress, which `main.ts` runs on a copy of the pages.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';

const root = process.env['AGENTFLEET_ROOT'] ?? '';
const page = (text, link) => ({ text, link: `/docs/${link}` });

export default defineConfig({
  title: 'AgentFleet',
  description: 'Fleets of autonomous agents as declarative, reversible work on Kubernetes',
  rewrites: (path) => path.replace(/(^|\/)README\.md$/, '$1index.md'),
  // Folders and files of the repository that are no pages; that they are there is held by test/docsLinks.test.ts.
  ignoreDeadLinks: [(link) => ['', 'docs'].some((folder) => existsSync(join(root, folder, link.replace(/^(\.{1,2}\/)+/, ''))))],
  // Words in angle brackets and braces are words.
  markdown: {
    html: false,
    languageAlias: { promql: 'sql' },
    config: (md) => {
      const text = md.renderer.rules.text;
      md.renderer.rules.text = (...args) => (text?.(...args) ?? '').replaceAll('{{', '&#123;&#123;');
    },
  },
  vite: { logLevel: 'warn' },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: [
      {
        text: 'Begin',
        items: [page('Start', 'start'), page('Concepts', 'concepts'), page('How to', 'howto'), page('Glossary', 'glossary')],
      },
      {
        text: 'Use',
        items: [
          page('Language models', 'language-models'),
          page('Agent programs', 'harnesses'),
          page('Delivery', 'delivery'),
          page('MCP server', 'fleet-mcp'),
          page('Evaluation', 'evaluation'),
        ],
      },
      {
        text: 'Reference',
        items: [
          page('Custom resources', 'reference/api'),
          page('fleet', 'reference/cli'),
          page('Reasons', 'reference/reasons'),
          page('All', '#reference'),
        ],
      },
      {
        text: 'Operate',
        items: [
          page('Install', 'install'),
          page('GitOps', 'gitops'),
          page('Upgrades', 'upgrades'),
          page('Operations', 'operations'),
          page('Metrics and alerts', 'observability'),
          page('Runbooks', 'runbooks/'),
          page('Placement', 'placement'),
          page('Rollouts', 'rollouts'),
        ],
      },
      { text: 'Trust', items: [page('The sandbox under attack', 'security/sandbox'), page('Who may do what', 'security/tenancy')] },
      { text: 'Judge', items: [page('Benchmarks', 'benchmarks'), page('Comparison', 'comparison'), page('Questions', 'faq')] },
      { text: 'Build', items: [page('Architecture', 'architecture'), page('The anatomy of a task', 'anatomy-of-a-task')] },
    ],
  },
});
