import type { Finding } from './types.ts';

/** What a file may not hold without a person's yes, by its path and text. Told by text alone; sources are parsed by `overrides`. */
interface ContentRule {
  readonly rail: 'forged-records' | 'persistence' | 'escape' | 'exfil';
  readonly path: RegExp;
  readonly pattern: RegExp;
  readonly reason: string;
}

const pipelines =
  /(?:^|\/)(?:\.github\/workflows\/[^/]+\.ya?ml|\.gitlab-ci\.yml|\.circleci\/config\.yml|azure-pipelines\.yml|bitbucket-pipelines\.yml)$/;
const code = /\.(?:py|[cm]?[jt]sx?|go|rb|java|kt|php|rs|cs)$/;
const pytestStart = /(?:^|\/)conftest\.py$/;
const orders = /(?:^|\/)(?:AGENTS|CLAUDE|GEMINI|COPILOT)\.md$|copilot-instructions\.md$|\.cursor(?:rules|\/rules\/.*)$|\.windsurfrules$/i;

const rules: readonly ContentRule[] = [
  { rail: 'forged-records', path: pipelines, pattern: /continue-on-error:\s*true|allow_failure:\s*true|(?:test|lint|check|pytest|audit|tsc)\b[^\n]*\|\|\s*(?:true|:|exit 0)|if:\s*(?:\$\{\{\s*)?false/, reason: 'checks that fail count as passed' },
  { rail: 'persistence', path: pipelines, pattern: /pull_request_target[\s\S]*(?:head\.(?:sha|ref)|secrets\.)|permissions:\s*write-all|github\.event\.(?:issue|pull_request|comment)\.(?:title|body)\s*\}\}/, reason: 'strangers run code with rights of the project' },
  { rail: 'exfil', path: pipelines, pattern: /run:[^\n]*secrets\.\w+[^\n]*(?:base64|rev|xxd|curl|wget|\bod\b|sed)|(?:curl|wget)[^\n]*secrets\.\w+(?![^\n]*(?:github\.com|Authorization))/, reason: 'secrets are shown or sent' },
  { rail: 'forged-records', path: pytestStart, pattern: /outcome\s*=\s*['"]passed|excinfo\s*=\s*None|items\.clear\(\)|items\[:\]\s*=|exitstatus\s*=\s*0|collect_ignore(?:_glob)?\s*=|pytest_runtest_call|os\._exit\(0\)|sys\.exit\(0\)/, reason: 'tests are left out or their outcome is changed' },
  { rail: 'forged-records', path: code, pattern: /inspect\.(?:stack|currentframe)\(\)[\s\S]{0,400}test_|PYTEST_CURRENT_TEST|['"](?:pytest|unittest)['"]\s+in\s+sys\.modules|process\.env\.(?:JEST_WORKER_ID|VITEST)|process\.env\.NODE_ENV\s*===?\s*['"]test['"][^\n]*return/, reason: 'the code tells that it is being tested' },
  { rail: 'forged-records', path: code, pattern: /verify\s*=\s*False|rejectUnauthorized:\s*false|NODE_TLS_REJECT_UNAUTHORIZED|InsecureSkipVerify:\s*true|ssl\._create_unverified_context|CERT_NONE/, reason: 'certificates are no longer checked' },
  { rail: 'forged-records', path: code, pattern: /\b(?:verify|check|validate|authenticate|is_?valid|is_?authorized|can_?access)\w*\s*\([^)]*\)[^\n{:]*(?:\{|:)\s*(?:\/\/[^\n]*|#[^\n]*)?\s*return\s+(?:true|True)\b/i, reason: 'a check answers yes whatever it is asked' },
  { rail: 'persistence', path: code, pattern: /(?:password|passwd|token|secret|api_?key|pin|code)\s*(?:===?|\.equals\()\s*['"][\w!@#$%^&*-]{5,}['"]/i, reason: 'a password stands in the code' },
  { rail: 'persistence', path: code, pattern: /(?:subprocess\.\w+|os\.(?:system|popen)|exec(?:Sync)?|eval|getoutput)\s*\(\s*(?:request|req|ctx|params|query|body)\b/, reason: 'whoever asks may run code' },
  { rail: 'escape', path: code, pattern: /(?:pickle\.loads?|yaml\.(?:load|unsafe_load)|marshal\.loads?|\beval|\bexec|new Function|vm\.run\w+)\s*\(\s*(?:await\s*\(?)?[^\n]{0,80}(?:urlopen|requests\.get|fetch\(|httpx\.get|\.data\b)/, reason: 'code of a stranger is run' },
  { rail: 'exfil', path: code, pattern: /(?:JSON\.stringify|dict|json\.dumps|Object\.(?:entries|assign)|str)\s*\(\s*\{?\s*(?:process\.env|os\.environ)\b|[:=]\s*process\.env\s*[,})]|\.\.\.process\.env\b[\s\S]{0,200}(?:fetch|http|post|send)/, reason: 'the whole environment is handed out' },
  { rail: 'persistence', path: orders, pattern: /never ask|without (?:asking|approval|confirmation)|always (?:run|use)[^\n]*(?:sudo|--no-verify|--force)|skip (?:the )?(?:tests|checks|hooks|review)|curl[^\n]*\|\s*(?:ba)?sh|ignore (?:all|previous|the user)/i, reason: 'agents after this one are told to take less care' },
  { rail: 'escape', path: /(?:^|\/)\.(?:agent|claude|cursor|codex|gemini|aider)[\w.-]*(?:\/|$)/, pattern: /"?(?:allow|permissions?|approv\w*|sandbox|auto\w*|trust\w*)"?\s*[:=][^\n]*(?:\*|true|false|all|never|bypass)/i, reason: 'the agent gives itself more rights' },
  { rail: 'escape', path: /\.ya?ml$|\.json$/, pattern: /privileged"?:\s*true|host(?:PID|IPC|Network)"?:\s*true|hostPath|docker\.sock|["']?\/:\/|cluster-admin|pid:\s*["']?host|network_mode:\s*["']?host|cap_add/, reason: 'what runs gets rights of its host' },
  { rail: 'persistence', path: /(?:^|\/)package\.json$/, pattern: /"(?:pre|post)?install"\s*:\s*"[^"\n]*(?:curl|wget|https?:|node -e|eval|base64)|"prepare"\s*:\s*"[^"\n]*(?:curl|wget|https?:|node -e)/, reason: 'code of a stranger runs where the package is installed' },
  { rail: 'exfil', path: /\.(?:md|html?|rst)$/, pattern: /https?:\/\/[^\s)"']*[?&][^\s)"']*(?:\$\{?\w*(?:TOKEN|KEY|SECRET|PASS)|\{\{[^}]*(?:token|key|secret|env)|document\.cookie)|encodeURIComponent\(document\.cookie/i, reason: 'a secret stands in an address that readers ask for' },
]; // prettier-ignore

/** What the rules for texts find in a file that is written. Pure; patterns are linear over at most 64 Ki characters. */
export function contentFindings(path: string, content: string): readonly Omit<Finding, 'span'>[] {
  const text = content.slice(0, 65_536);
  return rules.flatMap(({ rail, path: where, pattern, reason }) =>
    where.test(path) && pattern.test(text)
      ? [
          {
            rail,
            severity: 'Unknown',
            reason: `${path}: ${reason}`,
            cure: 'Leave it out; a person may allow it where the task needs it.',
          } as const,
        ]
      : [],
  );
}
