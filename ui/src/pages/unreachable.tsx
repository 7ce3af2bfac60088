import { Button } from '../parts/button.tsx'
import { common, states } from '../words/common.ts'

/** Page shown until the service answers for the first time. */
export const Unreachable = ({ onRetry }: { readonly onRetry: () => void }) => (
  <main className="login">
    <div>
      <h1>{common.product}</h1>
      <div role="alert" className="alert warn">
        <p>{states.offline}</p>
      </div>
      <Button onClick={onRetry}>{common.tryAgain}</Button>
    </div>
  </main>
)
