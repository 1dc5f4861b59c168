# The server for a team, with everything that it needs. docs/SERVER.md says how to run it.
#   docker build -t cfad .
#   docker run -p 127.0.0.1:8501:8501 -v cfad:/data -e CFAD_OPEN=yes cfad
ARG PYTHON=3.11.14-slim-bookworm

FROM python:${PYTHON} AS build
# PyTorch for processors alone; the usual build is larger by gigabytes
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/cfad
WORKDIR /build
COPY requirements.txt ./
RUN torch="$(grep '^torch==' requirements.txt)" \
 && /opt/cfad/bin/pip install --no-deps --index-url "$TORCH_INDEX" "$torch" \
 && /opt/cfad/bin/pip install -r requirements.txt
COPY . .
RUN /opt/cfad/bin/pip install --no-deps . \
 && /opt/cfad/bin/pip check

FROM python:${PYTHON}
# Pango is for reports as PDF; its version is Debian's, which the name of the image names
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libpango-1.0-0 libpangoft2-1.0-0 fonts-dejavu-core \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin cfad \
 && install --directory --owner=cfad --group=cfad --mode=0700 /data
COPY --from=build /opt/cfad /opt/cfad
ENV PATH=/opt/cfad/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 CFAD_HOME=/data
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8501/healthz', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["cfad"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8501"]
