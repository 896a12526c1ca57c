import type { RedactionKind } from '../keeper/index.ts';

/** A public shape of secrets. Every repetition is bounded, so that the time grows with the text only. */
export interface Shape {
  readonly kind: RedactionKind;
  /** One of these stands in every text that matches: looked for first, as it is fast. */
  readonly needs: readonly string[];
  /** Global; the group `secret`, or else the whole match, is taken out. */
  readonly pattern: RegExp;
  /** Also: whether the text is no placeholder. */
  readonly isSecret?: (text: string) => boolean;
}

const before = '(?<![A-Za-z0-9])';
const after = '(?![A-Za-z0-9])';
const shape = (kind: RedactionKind, needs: readonly string[], pattern: string, isSecret?: Shape['isSecret']): Shape => ({
  kind,
  needs,
  pattern: new RegExp(`${before}(?:${pattern})`, 'gd'),
  ...(isSecret === undefined ? {} : { isSecret }),
});

/** Words that stand where a password would in examples, and what a program puts one in. */
function isNoPlaceholder(text: string): boolean {
  return !/^[$%<{*[]|^(?:pass(?:word|wd)?|pwd|secret|token|user|x{2,16}|\.{2,16})$/i.test(text);
}

const url = '[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\\s:@/"\'<>`]{0,128}:(?<secret>[^\\s@/"\'<>`]{1,256})@(?=[A-Za-z0-9[])';
const authorization =
  '[Aa]uthorization["\']?\\s{0,3}[:=]\\s{0,3}["\']?(?:Bearer|Basic|[Tt]oken)\\s{1,3}(?<secret>[A-Za-z0-9._~+/=-]{16,4096})';

export const shapes: readonly Shape[] = [
  shape('CloudKey', ['AKIA', 'ASIA', 'ABIA', 'ACCA'], `(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}${after}`),
  shape('CloudKey', ['AIza'], 'AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])'),
  shape('CloudKey', ['GOCSPX-'], 'GOCSPX-[A-Za-z0-9_-]{28}'),
  shape('CloudKey', ['AccountKey='], 'AccountKey=(?<secret>[A-Za-z0-9+/]{86}==)'),
  shape('CloudKey', ['_v1_'], `do[opr]_v1_[a-f0-9]{64}${after}`),
  shape('Token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], `gh[pousr]_[A-Za-z0-9]{36,255}${after}`),
  shape('Token', ['github_pat_'], `github_pat_[A-Za-z0-9_]{60,255}${after}`),
  shape('Token', ['glpat-', 'gldt-', 'glrt-', 'glcbt-'], '(?:glpat|gldt|glrt|glcbt)-[A-Za-z0-9_.-]{20,128}'),
  shape('Token', ['xox'], 'xox[abeposr]-[A-Za-z0-9-]{10,255}'),
  shape('Token', ['xapp-'], 'xapp-\\d-[A-Za-z0-9-]{20,255}'),
  shape(
    'Token',
    ['hooks.slack.com/services/'],
    'hooks\\.slack\\.com/services/(?<secret>T[A-Za-z0-9_]{6,16}/B[A-Za-z0-9_]{6,16}/[A-Za-z0-9_]{16,32})',
  ),
  shape('Token', ['_live_', '_test_'], `[rs]k_(?:live|test)_[A-Za-z0-9]{16,128}${after}`),
  shape('Token', ['npm_'], `npm_[A-Za-z0-9]{36}${after}`),
  shape('Token', ['pypi-AgE'], 'pypi-AgE[A-Za-z0-9_-]{50,512}'),
  shape('Token', ['sk-'], 'sk-(?:ant-|proj-|svcacct-|or-|admin-)?[A-Za-z0-9_-]{32,255}', (text) => /\d/.test(text) && /[A-Z]/.test(text)),
  shape('Token', ['hf_'], `hf_[A-Za-z0-9]{34}${after}`),
  shape('Token', ['SG.'], 'SG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}'),
  shape('Token', ['ya29.'], 'ya29\\.[A-Za-z0-9_-]{20,512}'),
  shape('Token', ['hvs.', 'hvb.'], 'hv[sb]\\.[A-Za-z0-9_-]{24,255}'),
  shape('Token', ['dckr_pat_'], 'dckr_pat_[A-Za-z0-9_-]{27}'),
  shape('Token', ['AGE-SECRET-KEY-1'], 'AGE-SECRET-KEY-1[A-Z0-9]{58}'),
  shape('Token', ['dapi'], `dapi[a-f0-9]{32}${after}`),
  shape('Token', ['shpat_', 'shpca_', 'shppa_', 'shpss_'], `shp(?:at|ca|pa|ss)_[a-f0-9]{32}${after}`),
  shape('Token', [':AA'], '\\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])'),
  shape('Token', ['uthorization'], authorization, isNoPlaceholder),
  shape('Jwt', ['eyJ'], '(?<![_-])eyJ[A-Za-z0-9_-]{8,2048}\\.eyJ[A-Za-z0-9_-]{8,6144}\\.[A-Za-z0-9_-]{8,2048}'),
  shape('UrlPassword', ['://'], url, isNoPlaceholder),
];
