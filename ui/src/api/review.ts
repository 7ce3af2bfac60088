import type { AccessChecked, AccessReview } from '../../../src/contract/access.ts'
import { addressOf, query, read } from './request.ts'

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
export const readReview = (
  { page, ...question }: Question & { readonly page?: string | undefined },
  signal?: AbortSignal,
): Promise<AccessReview> => read(ROUTE + query({ ...question, limit: PAGE, pageToken: page }), { signal })

/** Address of the whole review as a CSV file. */
export const reviewFile = (question: Question): string => addressOf(ROUTE + query({ ...question, format: 'csv' }))

/** Decides whether a token has a right in a namespace. */
export const readDecision = (
  question: Question & { readonly id: string },
  signal?: AbortSignal,
): Promise<AccessChecked> => read(`auth/v1/access/check${query(question)}`, { signal })
