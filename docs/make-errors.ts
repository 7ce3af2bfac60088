import { refusals } from '../src/errors.ts'

const INTRODUCTION = `# Errors

Made from \`src/errors.ts\`; \`npm run docs\` writes it again.

Every error has the same body: \`code\` (a gRPC status number), \`message\`, and one entry of \`details\` with the \`reason\` of this table, the
request's id in \`metadata.requestId\` and, where one field was at fault, \`fieldViolations\`. Programs should look at the reason; messages are for people.
Quote the request id when you ask for help: the log has it too, where the request wrote something or the service failed.

| Reason | HTTP | gRPC | Message, where none more exact is given |
|---|---|---|---|
`

/** docs/errors.md: every refusal there is. */
export const errorsPage = (): string =>
  INTRODUCTION +
  Object.entries(refusals)
    .map(([reason, { status, code, sentence }]) => `| \`${reason}\` | ${status} | ${code} | ${sentence} |\n`)
    .join('')
