import { http, HttpResponse } from 'msw'
import { setupServer } from 'msw/node'

/** The API as a test sees it: a test says what each address answers, and an address that it did not name is an error. */
export const server = setupServer()

type Answer = (request: Request) => unknown

const at = (path: string) => `*/api/v1${path}`

/** Answers 200 with what the function returns, or with the response it returns. */
async function respond(request: Request, answer: Answer): Promise<Response> {
  const body = await answer(request)
  return body instanceof Response ? body : HttpResponse.json(body as object)
}

export const given = {
  get: (path: string, answer: Answer) =>
    server.use(http.get(at(path), ({ request }) => respond(request, answer))),
  post: (path: string, answer: Answer) =>
    server.use(http.post(at(path), ({ request }) => respond(request, answer))),
  put: (path: string, answer: Answer) =>
    server.use(http.put(at(path), ({ request }) => respond(request, answer))),
  patch: (path: string, answer: Answer) =>
    server.use(http.patch(at(path), ({ request }) => respond(request, answer))),
  delete: (path: string, answer: Answer) =>
    server.use(http.delete(at(path), ({ request }) => respond(request, answer))),
}

export function problem(status: number, code: string, detail: string, more: object = {}): Response {
  return HttpResponse.json({ status, code, detail, title: code, hint: '', findings: [], ...more }, { status })
}
