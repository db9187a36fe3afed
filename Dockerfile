FROM node:24.19.0-bookworm-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df AS page
WORKDIR /src/frontend
COPY frontend/package.json frontend/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY frontend ./
RUN npm run build

FROM python:3.11.16-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b
RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --create-home headgate \
    && install -d -o headgate /app /var/lib/headgate /opt/headgate
USER headgate
WORKDIR /app
ENV PATH=/app/.venv/bin:$PATH HEADGATE_CACHE=/opt/headgate/cache PYTHONUNBUFFERED=1
COPY --chown=headgate pyproject.toml uv.lock README.md controlplane/provision/uv.txt ./
RUN python -m venv .venv \
    && .venv/bin/pip install --no-cache-dir --require-hashes -r uv.txt \
    && uv sync --frozen --no-dev --inexact --no-install-project --no-cache
COPY --chown=headgate manage.py ./
COPY --chown=headgate controlplane controlplane
COPY --chown=headgate pipelines pipelines
COPY --chown=headgate workers workers
# The jars and the agents' start-up archive belong to this Java, so they are part of the image.
RUN uv sync --frozen --no-dev --inexact --no-cache && HEADGATE_JARS_IN_PLACE=1 headgate setup
COPY --from=page --chown=headgate /src/frontend/dist frontend/dist
VOLUME /var/lib/headgate
EXPOSE 8000
CMD ["headgate", "web", "--host", "0.0.0.0"]
