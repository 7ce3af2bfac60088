import type { Started } from '../start.ts'

type Constraint = {
  readonly type?: string
  readonly property: string
  readonly operator: string
  readonly value?: string
}
type Made = { readonly id: string }

/** Creates flags and segments over HTTP with short calls. */
export const maker = ({ request }: Pick<Started, 'request'>, namespace = 'default') => {
  const N = `/api/v1/namespaces/${namespace}`
  const send = async <T = Made>(method: string, path: string, body: object): Promise<T> => {
    const { status, json, text } = await request<T>(method, path, body)
    if (status !== 200) throw new Error(`${method} ${path}: ${text}`)
    return json
  }
  const make = <T = Made>(path: string, body: object) => send<T>('POST', N + path, body)
  const constraint = async (segment: string, body: Constraint) =>
    (await make(`/segments/${segment}/constraints`, { type: 'STRING_COMPARISON_TYPE', ...body })).id

  return {
    namespace: () => send('POST', '/api/v1/namespaces', { key: namespace, name: namespace }),
    /** Creates a segment with constraints, on text by default; returns their ids. */
    segment: async (
      key: string,
      constraints: readonly Constraint[] = [],
      matchType = 'ALL_MATCH_TYPE',
    ): Promise<string[]> => {
      await make('/segments', { key, name: key, matchType })
      const ids: string[] = []
      for (const each of constraints) ids.push(await constraint(key, each))
      return ids
    },
    constraint,
    boolean: (key: string, enabled = false) => make('/flags', { key, name: key, type: 'BOOLEAN_FLAG_TYPE', enabled }),
    variantFlag: (key: string, enabled = true) => make('/flags', { key, name: key, enabled }),
    variant: async (flag: string, key: string, attachment = '') =>
      (await make(`/flags/${flag}/variants`, { key, attachment })).id,
    threshold: (flag: string, percentage: number, value = true) =>
      make(`/flags/${flag}/rollouts`, { threshold: { percentage, value } }),
    bySegment: (flag: string, segment: object) =>
      make(`/flags/${flag}/rollouts`, { segment: { value: true, ...segment } }),
    /** Creates a rule for segments with shares of variants by id. */
    rule: async (flag: string, segments: object, shares: Readonly<Record<string, number>> = {}): Promise<string> => {
      const { id } = await make(`/flags/${flag}/rules`, segments)
      for (const [variantId, rollout] of Object.entries(shares))
        await make(`/flags/${flag}/rules/${id}/distributions`, { variantId, rollout })
      return id
    },
    updateFlag: (key: string, body: object) => send('PUT', `${N}/flags/${key}`, { name: key, ...body }),
  }
}
