import { refusals } from '../src/base/errors.ts'
import { type LoginFailureText, loginCauses, loginPages } from '../src/base/login-causes.ts'

const INTRODUCTION = `# Errors

Generated from \`src/base/errors.ts\`; \`npm run docs\` writes it again.

Every error has the same body: \`code\` (a gRPC status number), \`message\`, and one entry of \`details\`. The entry has the \`reason\` of this table, the
request id in \`metadata.requestId\` and, for an error in one field, \`fieldViolations\`. Programs should use the reason; messages are for people.
Include the request id in a report. The log has it too, if the request wrote something or the service failed.

| Reason | HTTP | gRPC | Default message |
|---|---|---|---|
`

/** Text of docs/errors.md: every refusal. */
export const errorsPage = (): string =>
  INTRODUCTION +
  Object.entries(refusals)
    .map(([reason, { status, code, sentence }]) => `| \`${reason}\` | ${status} | ${code} | ${sentence} |\n`)
    .join('')

const CAUSES = `# Causes of refused logins

Generated from \`src/base/login-causes.ts\`; \`npm run docs\` writes it again.

The log line of a refused login, exchange or session has \`cause\`, \`why\` and \`change\` of one row ([api.md](api.md) §5.5). The service fills in \`{…}\`: \`{step}\` and \`{host}\` are the call that failed (\`discovery\`, \`token endpoint\`, \`keys\`, or the path of the API of a code host).
If no rule matches, \`{what}\` names the claims that rules use, by their defect: \`absent\`, \`not verified\`, \`only a reference\`, \`without a text\` or \`without one of any_of\`. For \`provider_error\` the title depends on the error code of the provider.

| \`cause\` | \`reason\` | Title of the page | \`why\` | \`change\` |
|---|---|---|---|---|
`

/** Text of docs/login-causes.md: every cause of a refused login. */
export const loginCausesPage = (): string =>
  CAUSES +
  Object.entries(loginCauses)
    .flatMap(([reason, causes]) =>
      Object.entries<readonly [string, string]>(causes).map(([cause, [why, change]]) => {
        const pages: Readonly<Record<string, LoginFailureText>> = loginPages
        return `| \`${cause}\` | \`${reason}\` | ${(pages[cause] ?? pages[reason])!.title} | ${why} | ${change} |\n`
      }),
    )
    .join('')
