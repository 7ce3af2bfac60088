import { refusals } from '../src/base/errors.ts'

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
