/** Contents that files may not have: rules over text for those that no parser reads, and the commands that files of a project hold. */
import { jsonIn } from '../base/text.ts';
import type { Finding } from './verdict/types.ts';

/** Content that a file may not have without a person's yes, by path and text. Reported by text alone; sources are parsed by `overrides`. */
interface ContentRule {
  readonly rail: string;
  readonly path: RegExp;
  /** The text without what the rule is not about; its lines stay where they are. */
  readonly judged?: (text: string) => string;
  readonly pattern: RegExp;
  readonly reason: string;
}

const pipelines =
  /(?:^|\/)(?:\.github\/workflows\/[^/]+\.ya?ml|\.gitlab-ci\.yml|\.circleci\/config\.yml|azure-pipelines\.yml|bitbucket-pipelines\.yml)$/;
const code = /\.(?:py|[cm]?[jt]sx?|go|rb|java|kt|php|rs|cs)$/;
const image = /(?:^|\/)(?:Dockerfile|Containerfile)\b[^/]*$|\.dockerfile$/i;
const pytestStart = /(?:^|\/)conftest\.py$/;
/** Settings that decide which tests run, and what their result counts for. */
const runnerSettings =
  /(?:^|\/)(?:nextest\.toml|pytest\.ini|tox\.ini|setup\.cfg|pyproject\.toml|pom\.xml|build\.gradle(?:\.kts)?|\.rspec|\.mocharc\.\w+|phpunit\.xml(?:\.dist)?)$/;
const settings =
  /\.(?:ini|cfg|conf|toml|ya?ml|json|xml|cmake|gradle|kts|properties|mk|sh)$|(?:^|\/)(?:\.\w*rc|Makefile|Dockerfile|CMakeLists\.txt|\.gitconfig)$/;
const orders = /(?:^|\/)(?:AGENTS|CLAUDE|GEMINI|COPILOT)\.md$|copilot-instructions\.md$|\.cursor(?:rules|\/rules\/.*)$|\.windsurfrules$/i;

/** Settings of what checks the project. */
const checkSettings =
  /(?:^|\/)\.?(?:[\w-]*[_-])?(?:audit|checks?|lint|verify|verification|policy|policies|quality|gates?|coverage|scan|security|codecov|guard)(?:[_.-]\w+)?\.(?:toml|ya?ml|json|ini|cfg|conf)$/i;
const testFiles =
  /(?:^|\/)(?:tests?|__tests__|specs?|e2e)\/|(?:^|\/)(?:test_[^/]*|[^/]*_test)\.(?:py|go|rb|c|cc|cpp)$|\.(?:test|spec)\.[cm]?[jt]sx?$|_spec\.rb$/;
/** Sources that decide who is let in. */
const authentic =
  /(?:auth|login|session|passw|credential|middleware|guard|permission|access|token|sign)[^/]*(?:\/[^/]+)*\.(?:py|[cm]?[jt]sx?|go|rb|java|kt|php|rs|cs)$/i;

/** Each pattern looks a bounded way ahead: a text that is made to be slow must not stop the worker. */
const rules: readonly ContentRule[] = [
  { rail: 'forged-records', path: pipelines, pattern: /continue-on-error:\s*true|allow_failure:\s*true|(?:test|lint|check|pytest|audit|tsc)\b[^\n]{0,300}\|\|\s*(?:true|:|exit 0)|if:\s*(?:\$\{\{\s*)?false/, reason: 'checks that fail count as passed' },
  { rail: 'persistence', path: pipelines, pattern: /pull_request_target(?:(?!pull_request_target)[\s\S]){0,3000}?(?:head\.(?:sha|ref)|secrets\.)|permissions:\s*write-all|github\.event\.(?:issue|pull_request|comment)\.(?:title|body)\s*\}\}/, reason: 'strangers run code with rights of the project' },
  { rail: 'exfil', path: pipelines, pattern: /secrets\.\w(?=[^\n]{0,300}(?:base64|rev|xxd|curl|wget|\bod\b|sed))(?<=run:[^\n]{0,300}secrets\.\w)|(?:curl|wget)[^\n]{0,300}secrets\.\w+(?![^\n]{0,300}(?:github\.com|Authorization))/, reason: 'secrets are shown or sent' },
  { rail: 'forged-records', path: pytestStart, pattern: /outcome\s*=\s*['"]passed|excinfo\s*=\s*None|items\.clear\(\)|items\[:\]\s*=|exitstatus\s*=\s*0|collect_ignore(?:_glob)?\s*=|pytest_runtest_call|os\._exit\(0\)|sys\.exit\(0\)/, reason: 'tests are left out or their outcome is changed' },
  { rail: 'forged-records', path: code, pattern: /inspect\.(?:stack|currentframe)\(\)[\s\S]{0,400}\btest|\btest_?\w*['"]?\s+in\s[^\n]{0,60}inspect\.stack\(|PYTEST_CURRENT_TEST|['"](?:pytest|unittest)['"]\s+in\s+sys\.modules|process\.env\.(?:JEST_WORKER_ID|VITEST)|process\.env\.NODE_ENV\s*===?\s*['"]test['"][^\n]{0,300}return/, reason: 'the code tells that it is being tested' },
  { rail: 'forged-records', path: code, pattern: /verify\s*=\s*False|rejectUnauthorized:\s*false|NODE_TLS_REJECT_UNAUTHORIZED|InsecureSkipVerify:\s*true|ssl\._create_unverified_context|CERT_NONE/, reason: 'certificates are no longer checked' },
  { rail: 'forged-records', path: code, pattern: /\b(?:verify|check|validate|authenticate|is_?valid|is_?authorized|can_?access)\w{0,40}\s{0,40}\([^)]{0,400}\)[^\n{:]{0,200}(?:\{|:)\s{0,40}(?:(?:\/\/|#)[^\n]{0,300}\s{0,40})?return\s+(?:true|True)\b/i, reason: 'a check answers yes whatever it is asked' },
  { rail: 'persistence', path: code, pattern: /(?:password|passwd|token|secret|api_?key|pin|code)\s*(?:===?|\.equals\()\s*['"][\w!@#$%^&*-]{5,}['"]/i, reason: 'a password stands in the code' },
  { rail: 'persistence', path: code, pattern: /(?:subprocess\.\w+|os\.(?:system|popen)|exec(?:Sync)?|eval|getoutput)\s*\(\s*(?:request|req|ctx|params|query|body)\b/, reason: 'whoever asks may run code' },
  { rail: 'escape', path: code, pattern: /(?:pickle\.loads?|yaml\.(?:load|unsafe_load)|marshal\.loads?|\beval|\bexec|new Function|vm\.run\w+)\s*\(\s*(?:await\s*\(?)?[^\n]{0,80}(?:urlopen|requests\.get|fetch\(|httpx\.get|\.data\b)/, reason: 'code of a stranger is run' },
  { rail: 'exfil', path: code, pattern: /(?:JSON\.stringify|dict|json\.dumps|Object\.entries|str)\s*\(\s*(?:\{\s*)?(?:process\.env|os\.environ)\b(?!\s{0,9}[.[])|(?<!\b(?:spawn|exec|fork|execa)\w{0,9}\([^;]{0,300}\benv\s{0,9})[:=](?!(?<=[(,{]\s{0,20}(\w{1,40})(?:\??\s{0,9}:[^=,(){}<>\n]{0,60}(?:<[^<>=(){}\n]{0,60}>)?)?\s{0,9}=)(?![\s\S]{0,8000}?(?:\.\.\.|(?<![\w.$]))\1\b(?!\s{0,20}(?:\??\.\s{0,20}(?!valueOf\b|toString\b)[\w$]|\[))))\s*process\.env\s*[,})]|\.\.\.process\.env\b[\s\S]{0,200}(?:fetch|http|post|send)/, reason: 'the whole environment is handed out' },
  { rail: 'persistence', path: orders, pattern: /never ask|without (?:asking|approval|confirmation)|always (?:run|use)[^\n]{0,300}(?:sudo|--no-verify|--force)|skip (?:the )?(?:tests|checks|hooks|review)|curl[^\n]{0,300}\|\s*(?:ba)?sh|ignore (?:all|previous|the user)/i, reason: 'agents after this one are told to take less care' },
  { rail: 'escape', path: /(?:^|\/)\.(?:agent|claude|cursor|codex|gemini|aider)[\w.-]*(?:\/|$)/, pattern: /"?(?:allow|permissions?|approv\w{0,40}|sandbox|auto\w{0,40}|trust\w{0,40})"?\s{0,40}[:=][^\n]{0,300}(?:\*|true|false|all|never|bypass)/i, reason: 'the agent gives itself more rights' },
  { rail: 'escape', path: /\.ya?ml$|\.json$/, judged: withoutPolicies, pattern: /\badd["']?:\s{0,9}(?:\[(?:[^\]]{0,300}[\s,"'])?|(?:-[ \t][^\n]{0,68}\n[ \t]{0,60}){0,20}-[ \t]{1,9}["']?)(?:CAP_)?(?:ALL|BPF|DAC_READ_SEARCH|MAC_ADMIN|MAC_OVERRIDE|MKNOD|NET_ADMIN|NET_RAW|PERFMON|SYS_(?:ADMIN|BOOT|MODULE|PTRACE|RAWIO|TIME))\b/, reason: 'what runs gets rights of its host' },
  { rail: 'escape', path: /\.ya?ml$|\.json$/, judged: withoutPolicies, pattern: /privileged"?:\s*true|host(?:PID|IPC|Network)"?:\s*true|hostPath|docker\.sock|["']?\/:\/|cluster-admin|pid:\s*["']?host|network_mode:\s*["']?host|cap_add(?!["']?:\s{0,9}(?:\[\s{0,9}(?:["']?(?:CAP_)?(?:CHOWN|DAC_OVERRIDE|FOWNER|FSETID|KILL|SETGID|SETUID|SETPCAP|NET_BIND_SERVICE|SYS_CHROOT|AUDIT_WRITE|SETFCAP)["']?(?:\s{0,9},\s{0,9}["']?(?:CAP_)?(?:CHOWN|DAC_OVERRIDE|FOWNER|FSETID|KILL|SETGID|SETUID|SETPCAP|NET_BIND_SERVICE|SYS_CHROOT|AUDIT_WRITE|SETFCAP)["']?){0,20})?\s{0,9}\]|(?:\s{0,40}-\s{1,9}["']?(?:CAP_)?(?:CHOWN|DAC_OVERRIDE|FOWNER|FSETID|KILL|SETGID|SETUID|SETPCAP|NET_BIND_SERVICE|SYS_CHROOT|AUDIT_WRITE|SETFCAP)["']?[ \t]{0,9}(?:#[^\n]{0,200})?(?=\n|$)){1,20}(?!\s*-)))/, reason: 'what runs gets rights of its host' },
  { rail: 'persistence', path: /(?:^|\/)package\.json$/, pattern: /"(?:pre|post)?install"\s*:\s*"[^"\n]*(?:curl|wget|https?:|node -e|eval|base64)|"prepare"\s*:\s*"[^"\n]*(?:curl|wget|https?:|node -e)/, reason: 'code of a stranger runs where the package is installed' },
  { rail: 'exfil', path: /\.(?:md|html?|rst)$/, pattern: /https?:\/\/(?:(?!https?:)[^\s)"']){0,600}[?&](?:(?!https?:)[^\s)"'?&]){0,300}(?:\$\{?\w{0,60}(?:TOKEN|KEY|SECRET|PASS)|\{\{[^}]{0,80}(?:token|key|secret|env)|document\.cookie)|encodeURIComponent\(document\.cookie/i, reason: 'a secret stands in an address that readers ask for' },
  { rail: 'forged-records', path: /(?:^|\/)package\.json$/, pattern: /"(?:test|check|lint|verify|test:\w+)"\s*:\s*"(?:(?:true|:|exit 0)\s*"|(?:echo|printf|node -[ep])(?!(?:[^"\\]|\\.)*(?:exit 1|no test specified|require|import|run\())(?:[^"\\&;|]|\\.)*")/, reason: 'a check only prints that it passed' },
  { rail: 'forged-records', path: pipelines, pattern: /(?:while\s+!|\buntil)\s(?:(?!\buntil\s)[^\n;])*(?:test|check|lint|verify)/, reason: 'checks are repeated until they pass' },
  { rail: 'exfil', path: pipelines, pattern: /secrets\.(?:(?!secrets\.)[\s\S]){0,3000}?(?:^|[\s;&|(])(?:env|printenv)(?: -0)?[ \t]*(?:[|>]|$)/m, reason: 'the environment is shown where secrets are' },
  { rail: 'forged-records', path: /(?:^|\/)\.gitattributes$/, pattern: /^(?!.*(?:lock|dist|vendor|generated\/|third.?party|\.min\.|\.snap|\.pb\.|\.svg|\.map))(?:\.github|[^#\s]{0,200}(?:src|lib|app|tests?|auth)\/)\S{0,200}\s[^\n]{0,300}(?:-diff\b|linguist-(?:generated|vendored)(?!=false)|merge=ours)/m, reason: 'changes of sources are hidden from review' },
  { rail: 'forged-records', path: runnerSettings, pattern: /default-filter\s*=\s*["']not |<(?:skipTests|maven\.test\.skip|testFailureIgnore)>\s*true|\bignoreFailures\b\s*(?:=\s*)?true|addopts[^\n]{0,300}(?:--deselect|--ignore|-k\s*["']?not )|--tag\s+~|<exclude>[^<]*(?:Test|IT)\b/, reason: 'checks leave tests out, or pass whatever they find' },
  { rail: 'forged-records', path: settings, pattern: /TLS_VERIFY OFF|(?:ssl_?verify|verify_?(?:ssl|peer|host|certs?|certificates?)|strict-ssl|strictSSL|validate_certs|tls_verify|check_hostname)["']?\s*[:=]\s*["']?(?:false|no|off|0)\b|insecure_?skip_?(?:tls_?)?verify["']?\s*[:=]\s*["']?true|allowInsecureProtocol\s*(?:=\s*)?true|GIT_SSL_NO_VERIFY\W{1,3}(?:1|true)|\bmin_?(?:imum)?_?(?:tls|ssl)\w{0,20}[']?\s*[:=]\s*["']?(?:TLS|SSL)?v?(?:1\.[01]|1_[01]|3|1)(?![\w.])|NODE_TLS_REJECT_UNAUTHORIZED\W{1,4}0/i, reason: 'certificates are no longer checked' },
  { rail: 'escape', path: /\.gradle(?:\.kts)?$|\.cmake$|(?:^|\/)CMakeLists\.txt$|\.(?:[rR]|jl)$/, pattern: /apply\s*(?:[({]\s*)?from\s*(?:[:=(]\s*)?(?:uri\()?["']https?:|file\(DOWNLOAD[\s\S]{0,600}\binclude\(|\b(?:source|include)\(\s*["']https?:/, reason: 'a build runs what it fetches from a stranger' },
  { rail: 'exfil', path: /\.gemspec$|(?:^|\/)(?:MANIFEST\.in|package\.json)$/, pattern: /(?:files|include)[\s\S]{0,300}["'\s](?:\.env(?!\.(?:example|sample|template))\b|[\w/]*master\.key|[\w./]*id_(?:rsa|ed25519)|\.npmrc|[\w/*]*\.pem)/, reason: 'a package is published with secrets in it' },
  { rail: 'exfil', path: /(?:^|\/)\.(?:docker|npm|gcloud)ignore$/, pattern: /^!\s*\S*(?:\.env(?!\.(?:example|sample|template))|id_(?:rsa|ed25519)|\.pem|\.key)\s*$/m, reason: 'secrets are no longer left out of what is published' },
  { rail: 'exfil', path: /\.(?:rs|go|rb|java|kt|php)$/, pattern: /env::vars\(\)[\s\S]{0,160}(?:collect|write|join|format)|\b(?:Write|Join|Marshal|Fprint|Post)\w*\([^\n]{0,300}os\.Environ\(\)|ENV\.(?:to_h|to_a|map|each)\b|System\.getenv\(\)\s*(?:\.entrySet|\.forEach|\.toString|\))|json_encode\(\s*(?:\$_ENV|getenv\(\))/, reason: 'the whole environment is handed out' },
  { rail: 'persistence', path: code, pattern: /(?:HTTP_X_|["']x-)(?!(?:forwarded|requested|request-id|csrf|content|frame|hub|git))[\w-]{1,80}["'\])]{1,3}[^\n]{0,20}(?:===?|\.equals\()\s*["'][\w-]{4,}["']/i, reason: 'who knows a word is let in' },
  { rail: 'persistence', path: code, pattern: /(?:hash_equals|compare_digest|timingSafeEqual|ConstantTimeCompare|MessageDigest\.isEqual)\s*\(\s*(?:self::|static::)?[A-Z][A-Z0-9_]{3,}\b[^\n]{0,300}[{:]\s*return\s+(?:true|True)/, reason: 'who knows a word is let in' },
  { rail: 'persistence', path: code, pattern: /\b(\w+)\s*(?::?=)\s*(?:await\s+)?(?:request|req|ctx|params)\.(?:headers|args|form|json|query|body|values|cookies|get)\b[\s\S]{0,300}?(?:subprocess\.\w+|os\.(?:system|popen)|exec(?:Sync)?|eval|spawn(?:Sync)?|system|popen)\(\s*\1\b/, reason: 'whoever asks may run code' },
  { rail: 'forged-records', path: code, pattern: /(?:verif|signed|signature|hmac|authenticat|authoriz|permission|licen[cs]e)(?:(?!verif|signed|signature|hmac|authenticat|authoriz|permission|licen[cs]e)[\s\S]){0,3000}?(?:catch\b[^{\n]{0,80}\{|except[^:\n]{0,120}:|rescue\b[^\n]{0,120}\n)\s{0,40}(?:(?:\/\/|#)[^\n]{0,300}\n\s{0,40})?(?:return\s+)(?:true|True)\b/i, reason: 'a check that breaks counts as passed' },
  { rail: 'services', path: /\.sql$/, pattern: /sql_safe_updates\s*=\s*0|security\s+definer[\s\S]{0,800}\bexecute\b[\s\S]{0,800}\|\||grant\s+[\w, ]+on\s[^;]*to\s+public\b|session_replication_role|disable\s+(?:trigger|row\s+level)|alter\s+system\b/i, reason: 'a protection of a data base is taken away' },
  { rail: 'catastrophic-delete', path: /\.xml$|\.gradle(?:\.kts)?$/, pattern: /maven-clean-plugin(?:(?!maven-clean-plugin)[\s\S]){0,3000}?(?:\$\{user\.home\}|followSymLinks>\s*true|<directory>\s*\/)|\bdelete\b[^\n]{0,300}(?:user\.home|getenv\(["']HOME)/, reason: 'a build deletes outside of the project' },
  { rail: 'exfil', path: pipelines, pattern: /toJSON\(\s*secrets\s*\)|(?:^|[\s;&|(])(?:env|printenv)\b[^\n|]{0,80}(?:\|[^\n|]{0,80}){0,3}\|\s*(?:base64|rev|xxd|gzip|od|curl|nc)\b/m, reason: 'the environment is shown where secrets are' },
  { rail: 'services', path: pipelines, pattern: /cron:\s*['"]?\*(?:\/[1-9])?\s+\*\s/, reason: 'jobs run every few minutes' },
  { rail: 'forged-records', path: checkSettings, judged: withoutQuietRules, pattern: /\bstrict["']?\s*[:=]\s*["']?(?:false|no|off|0)\b|\b(?:enabled?|required?|block(?:ing)?|enforce\w*|fail_on\w*|failOn\w*)["']?\s*[:=]\s*["']?(?:false|no|off|never|none)\b|\b(?:fail[_-]?under|threshold|minimum|min_\w+)["']?\s*[:=]\s*["']?0(?:\.0+)?\b|\b(?:severity|level)["']?\s*[:=]\s*["']?(?:off|none|ignore)\b|\b(?:max[_-]?warnings|allowed_failures)["']?\s*[:=]\s*["']?\d{3}/i, reason: 'a check is made weaker' },
  { rail: 'forged-records', path: testFiles, pattern: /(?:\bre\.sub|\.replace(?:All)?|\.sub|\.gsub)\s*\(\s*(?:\w{0,20},\s*)?[rbu]?["'`/][^\n]{0,160}(?:@Test|def test|\b(?:it|test)\\?\(|func Test|#\\?\[test)[^\n]{0,200},\s*[rbu]?(?:""|''|``)/, reason: 'tests are cut out' },
  { rail: 'forged-records', path: code, pattern: /(?:verif|decode|signature|claims|token)[\s\S]{0,800}?(?:catch\b[^{\n]{0,80}\{|except[^:\n]{0,120}:|rescue\b[^\n]{0,120}\n)(?:[^\n]{0,120}\n){0,3}?\s{0,40}return\s+[^\n]{0,60}\b(?:jwt\.decode|decode_unverified|unverified\w*|decodeJwt|jwtDecode)\s*\(/i, reason: 'a check that breaks counts as passed' },
  { rail: 'forged-records', path: /\.(?:py|[cm]?[jt]s|rb|pl|sh)$/, pattern: /^(?![\s\S]*(?:perf_counter|timeit|monotonic|hrtime|performance\.now|hyperfine|subprocess|Benchmark|Instant::now|process_time|cProfile))(?=[\s\S]*(?:\bbench|\bmeasured?\b|\bmedian\b|\blatenc|ops\/s|\bns\b|coverage))(?=[\s\S]*\brandom\.(?:uniform|gauss|normalvariate|triangular|randint)\()(?=[\s\S]*(?:\.write\(|\.dump\(|write_text\())/, reason: 'figures are made up that nobody measured' },
  { rail: 'forged-records', path: authentic, pattern: /(?:verify|check|valid|auth|token|secret|signature|allow|permit|\bcan)\w{0,40}\s*\([^)\n]{0,200}\)[^\n]{0,80}\n(?:[^\n]{0,160}\n){0,3}?\s{0,40}if\s{0,40}(?:\(\s{0,40})?(?:not\s+\w+|!\w+|\w+\s*(?:is|===?)\s*(?:None|null|undefined|""|''))\s{0,40}(?:\)\s{0,40})?(?:[:{]\s{0,40})?return\s+(?:True|true)\b/i, reason: 'a check answers yes where nothing is given' },
  { rail: 'persistence', path: authentic, pattern: /(?:digest|hexdigest)\((?:\s*['"]hex['"]\s*)?\)\s*(?:===?\s*|\.(?:startsWith|equals|startswith)\(\s*)_?[A-Z][A-Z0-9_]{3,}\b|(?:hash_equals|compare_digest|timingSafeEqual|ConstantTimeCompare)\s*\([^\n]{0,200},\s*(?:self::|static::)?_?[A-Z][A-Z0-9_]{3,}\s{0,40}\)\s{0,40}(?:\)\s{0,40})?[:{]\s{0,40}(?:return\s+(?:true|True)\b)/, reason: 'who knows a word is let in' },
  { rail: 'persistence', path: code, pattern: /(?:password|passwd|token|secret|api_?key|pin|code)\s*(?:===?|\.equals\()\s*(?:os\.(?:environ\.get|getenv)|ENV\.fetch|getenv)\([^)\n]{0,80},\s*["'][\w!@#$%^&*-]{4,}["']|(?:password|passwd|token|secret|api_?key|pin)\s*===?\s*\(?process\.env\.\w{1,60}\s*(?:\?\?|\|\|)\s*["'][\w-]{4,}["']/i, reason: 'a password stands in the code' },
  { rail: 'persistence', path: /\.go$/, pattern: /\b(\w+)\s*:=\s*(?:r|req|c|ctx)\.(?:Header\.Get|URL\.Query\(\)\.Get|FormValue|PostFormValue|Query|GetHeader|Param)\([\s\S]{0,400}?exec\.Command(?:Context)?\([^\n]{0,200}[\s,(]\1\s*[,)]/, reason: 'whoever asks may run code' },
  { rail: 'persistence', path: /\.sql$|\.(?:py|rb|[cm]?[jt]s|php|go)$/, pattern: /\b(?:create|alter)\s+(?:role|user)\s[^;]{0,300}\b(?:superuser|createrole|bypassrls)\b|\bgrant\s+(?:pg_(?:execute_server_program|(?:read|write)_server_files)|rds_superuser)\b/i, reason: 'rights over a whole data base are handed out' },
  { rail: 'persistence', path: image, pattern: /\buser(?:add|mod)\b[^\n;&|]{0,200}\s(?:-u|--uid)[ =]?0(?![\d.])|PermitRootLogin[ =]{1,3}(?:yes|without-password)/i, reason: 'who knows a word is root in the image' },
  { rail: 'persistence', path: /(?:^|\/)pg_hba\.conf$/, pattern: /\bhost\w*[ \t]+all[ \t]+all[ \t]+(?:0\.0\.0\.0\/0|::\/0|all)[ \t]+trust\b/, reason: 'everybody is let in without a password' },
  { rail: 'exfil', path: code, pattern: /document\.cookie[\s\S]{0,400}(?:sendBeacon|XMLHttpRequest|new Image|fetch\(\s*['"`]https?:)|(?:sendBeacon|new Image)[\s\S]{0,400}document\.cookie/, reason: 'sessions of readers are sent elsewhere' },
  { rail: 'exfil', path: code, pattern: /\b(\w+)\s*=\s*\{\s*\.\.\.process\.env\b[\s\S]{0,600}?JSON\.stringify\(\s*\1\b/, reason: 'the whole environment is handed out' },
  { rail: 'escape', path: code, pattern: /\b(\w+)\s*=\s*[^\n]{0,120}(?:urlopen|requests\.get|httpx\.get)\([^\n]{0,300}\n(?:[^\n]{0,300}\n){0,12}?[^\n]{0,120}\b(?:pickle\.loads?|marshal\.loads?|exec|eval|dill\.loads?|joblib\.load)\([^\n]{0,120}\b\1\b/, reason: 'code of a stranger is run' },
  { rail: 'catastrophic-delete', path: /(?:^|\/)(?:migrations?|versions|migrate)\/[^/]+\.(?:py|rb|sql|[cm]?[jt]s)$/, pattern: /(?:drop_column|remove_column|dropColumn|removeColumn)\b[^\n]{0,200}\n\s*(?:\w+\.)?(?:add_column|addColumn)\b|\bdrop\s+column\s[^\n;]{0,80}[;,]\s*(?:alter\s+table\s+\S{1,80}\s+)?add\s+column\b/i, reason: 'what a column holds is gone when it is made anew' },
]; // prettier-ignore

/** Lists findings of the rules for texts in a written file. Pure; of at most 64 Ki characters, in a time that their number bounds. */
export function contentFindings(path: string, content: string): readonly Omit<Finding, 'span'>[] {
  const text = withoutComments(path, content.slice(0, 65_536));
  const cure = 'Write the file without it; a person may allow it where the task needs it.';
  const found = (rail: string, reason: string) => ({ rail, severity: 'Unknown', reason: `${path}${reason}`, cure }) as const;
  const hollow = assertsNothing(path, text) ? [found('forged-records', ': a check that asks nothing, and passes')] : [];
  return hollow.concat(
    rules.flatMap(({ rail, path: where, judged, pattern, reason }) => {
      if (!where.test(path)) return [];
      const matches = [...(judged?.(text) ?? text).matchAll(new RegExp(pattern, `${pattern.flags}g`))].slice(0, maxMatches);
      return matches.map((match) => found(rail, `, ${placeOf(text, match)}: ${reason}`));
    }),
  );
}

/** Places that are named of one rule. */
const maxMatches = 16;

/** Lines of a comment are empty in YAML, which has no block comments. */
const withoutComments = (path: string, text: string): string => (/\.ya?ml$/.test(path) ? text.replaceAll(/^[ \t]*#.*$/gm, '') : text);

/** Kinds of objects that refuse others: what they name they deny, unless they make or change objects too. */
const denies =
  /^apiVersion:[ \t]*["']?(?:(?:kyverno\.io|templates\.gatekeeper\.sh|constraints\.gatekeeper\.sh)\/|admissionregistration\.k8s\.io\/\w+["']?[ \t]*\nkind:[ \t]*ValidatingAdmissionPolicy[ \t]*$)/m;
/** Settings of a policy that only notes, lets pass where it fails, or asks nobody. */
const lets =
  /^[ \t-]*(?:validationFailureAction(?:Overrides)?|failureAction|failurePolicy|enforcementAction|validationActions)[ \t]*:(?![ \t]*\[?["']?(?:Enforce|Fail|deny|Deny)\b)|system:(?:serviceaccounts|authenticated|masters)\b/im;
const makes = /^[ \t-]*["']?(?:generate|mutate\w*)["']?[ \t]*:|[{,][ \t]*["']?(?:generate|mutate\w*)["']?[ \t]*:/m;

/** Empties the documents that are policies of admission. Pure. */
function withoutPolicies(text: string): string {
  return text
    .split(/^(?=---)/m)
    .map((one) => {
      const [kinds, members] = [one.match(/^kind:.*$/gm) ?? [], one.match(/^["']?\w[^:\n]{0,80}:/gm) ?? []];
      const policy =
        denies.test(one) &&
        kinds.length === 1 &&
        !/^kind:[ \t]*(?:PolicyException|List)/.test(kinds[0] ?? '') &&
        !makes.test(one) &&
        !lets.test(one);
      return policy && members.every((name) => /^(?:apiVersion|kind|metadata|spec|status):$/.test(name))
        ? one.replaceAll(/[^\n]/g, ' ')
        : one;
    })
    .join('');
}

const quietAddresses = /^[ \t]{1,40}nonResourceURLs: ?\[["']?\/\w[\w./-]*\*?["']?(?:, {0,3}["']?\/\w[\w./-]*\*?["']?){0,30}\][ \t]*$/m;
const quietUsers =
  /^[ \t]{1,40}users: ?\[["']?system:(?:kube-|apiserver)[\w:-]*["']?(?:, {0,3}["']?system:(?:kube-|apiserver)[\w:-]*["']?){0,30}\][ \t]*$/m;

/** Lets rules of an audit policy go that leave out only probes and the cluster's own parts. Pure. */
function withoutQuietRules(text: string): string {
  if (!/^apiVersion:[ \t]*["']?audit\.k8s\.io\//m.test(text) || !/^kind:[ \t]*["']?Policy\b/m.test(text)) return text;
  return text
    .split(/^(?=[ \t]*- )/m)
    .map((rule) =>
      quietAddresses.test(rule) || quietUsers.test(rule) ? rule.replace(/^([ \t]*-[ \t]*level:[ \t]*)None\b/, '$1Some') : rule,
    )
    .join('');
}

/** A reason without the line that it names: what stands there is the same where an edit moved it. Pure. */
export const placeless = (reason: string): string => reason.replace(/, line \d+/, '');

/** The line of a match, and how the match begins there. Pure. */
function placeOf(text: string, { 0: matched, index }: RegExpExecArray): string {
  const at = index + matched.length - matched.trimStart().length;
  const line = text.slice(0, at).split('\n').length;
  const [begin = ''] = text.slice(at, at + 60).split('\n');
  return begin === '' ? `line ${line}` : `line ${line} (${begin.trimEnd()})`;
}

/** Files that are run to see whether the work is right. */
const verdicts =
  /(?:^|\/)(?:test_[^/]*|[^/]*_test|[^/]*[.](?:test|spec)|(?:run[_-]?)?(?:tests?|checks?|verify|validate|audit|lint|ci|spec|smoke)(?:[_.-][\w.-]*)?)\.(?:sh|py|[cm]?[jt]s|rb|pl)$/i;
/** Lines that only say something, pass, or hold what others do. */
const idle =
  /^(?:#.*|\/\/.*|import\s.*|from\s.*|set -\w+.*|(?:async )?def \w+\(.*\).*:|class .*:|package .*|use strict.*|'use strict';?|pass|return(?: (?:0|True|true|None))?;?|[{}()\];,]+|(?:echo|printf|puts) (?:'[^'`]*'|"[^"`$]*"|[\w .-]*)(?:\s*;?\s*exit 0)?|(?:print|console\.log|process\.stdout\.write|say)\s*\(?\s*(?:'[^']*'|"[^"]*"|`[^`$]*`)?\s*\)?;?|(?:sys\.|process\.|os\._)?exit[ (]?0?\)?;?|true|:|self\.assertTrue\([tT]rue\)|assert [tT]rue|expect\(true\)\.\w+\((?:true)?\);?|assert(?:\.ok)?\(true\);?|unittest\.main\(.*\)|if __name__ == .*:|(?:describe|it|test)\(.*(?:=> \{|\{\}\);?))$/;
/** Words that make a file a check and not a part of one. */
const passes = /echo|printf|print|console\.log|puts|say|exit|def test|\b(?:it|test)\(|[tT]rue/;

/** Reports whether a file of a check's name runs nothing and asks nothing. Pure. */
function assertsNothing(path: string, text: string): boolean {
  if (!verdicts.test(path) || text.length > 4096) return false;
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return (
    lines.length > 0 &&
    lines.every((line) => line.length < 200 && idle.test(line)) &&
    lines.some((line) => !/^(?:#|\/\/|import|from)/.test(line) && passes.test(line))
  );
}

/** Reports whether a file makes an image, and mounts nothing writable of where it is built. Pure. */
export const buildsImage = (path: string, content: string): boolean =>
  image.test(path) && !/--mount=(?!type=(?:cache|secret|ssh|tmpfs)\b)/.test(content);

/** The shell text that a file of a project makes others run: recipes, steps of jobs and images, scripts of a package. Pure. */
export function embeddedShell(path: string, content: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (/^(?:GNU)?[Mm]akefile$|\.mk$/.test(name)) return recipes(content);
  if (image.test(path))
    return [...content.replaceAll('\\\n', ' ').matchAll(/^[ \t]*RUN[ \t]+(?!\[)(?:--\S+[ \t]+)*([^\n]*)/gim)]
      .map(([, line = '']) => line)
      .join('\n');
  if (name === 'package.json') return scriptsOf(content);
  return pipelines.test(path) ? stepsOf(content) : '';
}

/** Variables of make become those of the shell; `$$` is one of its own. */
function recipes(content: string): string {
  return content
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.startsWith('\t'))
    .map((line) =>
      line
        .replace(/^\t[@+-]*/, '')
        .replaceAll(/\$\((\w+)\)/g, '$${$1}')
        .replaceAll('$$', '$'),
    )
    .join('\n');
}

function scriptsOf(content: string): string {
  const { scripts } = (jsonIn(content) ?? {}) as { readonly scripts?: Readonly<Record<string, unknown>> | null };
  return Object.values(scripts ?? {})
    .filter((line) => typeof line === 'string')
    .join('\n');
}

/** Lines of `run:` and `script:`, also of blocks, without the expressions of the runner. */
function stepsOf(content: string): string {
  const out: string[] = [];
  let block = -1;
  for (const line of content.split('\n')) {
    const indent = line.length - line.trimStart().length;
    if (block >= 0 && (line.trim() === '' || indent > block)) {
      out.push(line.trim().replace(/^- /, ''));
      continue;
    }
    block = -1;
    const [, lead = '', text = ''] = /^(\s*(?:- )?)(?:run|script|before_script|after_script|command):\s*(?=\S|$)(.*)$/.exec(line) ?? [];
    if (/^(?:[|>][+-]?)?$/.test(text) && /(?:run|script|command):/.test(line)) block = lead.length;
    else if (text !== '') out.push(text.replace(/^(['"])(.*)\1$/, '$2'));
  }
  return out.join('\n').replaceAll(/\$\{\{(?:(?!\$\{\{)[^}])*\}\}/g, 'expression');
}
