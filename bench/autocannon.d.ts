/** The part of autocannon that the benches use; the package has no types of its own. */
declare module 'autocannon' {
  type Request = {
    readonly method?: string
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: string
  }
  type Options = Request & {
    readonly url: string
    readonly connections?: number
    readonly workers?: number
    readonly duration?: number
    readonly overallRate?: number
    readonly requests?: readonly Request[]
  }
  type Result = {
    readonly requests: { readonly total: number }
    readonly duration: number
    readonly latency: { readonly p99: number }
    readonly errors: number
    readonly '4xx': number
    readonly '5xx': number
  }
  const autocannon: (options: Options) => Promise<Result>
  export default autocannon
}
