import type { AccessChecked, AccessReview } from '../../../src/contract/access.ts'
import { addressOf, query, request } from './request.ts'

export type Reviewed = AccessReview['entries'][number]

/** Question of an access review: a right in a namespace (`*`: in every one) at a moment. */
export type Question = {
  readonly right: string
  readonly namespaceKey: string
  readonly at?: string | undefined
}

const PAGE = 50
const ROUTE = 'audit/v1/access'

/** Reads one page of the tokens that have a right in a namespace, oldest first. */
export const readReview = async (
  { page, ...question }: Question & { readonly page?: string | undefined },
  signal?: AbortSignal,
): Promise<AccessReview> =>
  (await request<AccessReview>(ROUTE + query({ ...question, limit: PAGE, pageToken: page }), { signal })).value

/** Address of the whole review as a CSV file. */
export const reviewFile = (question: Question): string => addressOf(ROUTE + query({ ...question, format: 'csv' }))

/** Decides whether a token has a right in a namespace. */
export const readDecision = async (
  question: Question & { readonly id: string },
  signal?: AbortSignal,
): Promise<AccessChecked> => (await request<AccessChecked>(`auth/v1/access/check${query(question)}`, { signal })).value
