import type { Test } from 'tap'
import { type Reason, refusals } from '../../../src/base/errors.ts'
import type { Headers, Started } from '../../start.ts'

type Body = {
  readonly code?: number
  readonly message?: string
  readonly details?: readonly [
    {
      readonly value: {
        readonly reason: string
        readonly fieldViolations?: readonly { readonly field: string; readonly description: string }[]
      }
    },
  ]
}

/**
 * Sends a request and checks message and reason of its refusal, and the status of the reason; a message of a field must
 * have a field violation.
 */
export const refuses =
  ({ request }: Pick<Started, 'request'>) =>
  async (
    t: Test,
    [method, path, body, headers]: readonly [method: string, path: string, body?: unknown, headers?: Headers],
    message: string,
    reason: Reason = 'invalid_argument',
  ): Promise<void> => {
    const answer = await request<Body>(method, path, body, headers)
    const { value } = answer.json.details?.[0] ?? {}
    const [, field, description] = /^invalid field (.+?): (.*)$/s.exec(message) ?? []
    t.same(
      {
        status: answer.status,
        message: answer.json.message,
        reason: value?.reason,
        violations: value?.fieldViolations ?? [],
      },
      {
        status: refusals[reason].status,
        message,
        reason,
        violations: field === undefined ? [] : [{ field, description }],
      },
      `${method} ${path.slice(0, 120)} is refused: ${message.slice(0, 120)}`,
    )
  }

/** Creates a resource and returns the body of the answer. */
export const creator =
  ({ request }: Pick<Started, 'request'>) =>
  async <T = Readonly<Record<string, unknown>> & { readonly id: string; readonly rank: number }>(
    t: Test,
    path: string,
    body: object,
    headers?: Headers,
  ): Promise<T> => {
    const answer = await request<T>('POST', path, body, headers)
    t.equal(answer.status, 200, `${path} creates: ${answer.status === 200 ? '' : answer.text}`)
    return answer.json
  }
